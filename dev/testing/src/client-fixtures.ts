/** The fixtures of all client dialects, from their files in `clients/`. */

import { type ClientDialect, clientDialects } from '@gateway/contracts/vendors'
import type { ClientFixture } from './client-fixture.ts'

const loaded = clientDialects.map(async (client) => {
  const { fixture } = (await import(`./clients/${client}.ts`)) as { fixture: ClientFixture }
  return [client, fixture] as const
})

export const CLIENTS = Object.fromEntries(await Promise.all(loaded)) as Record<ClientDialect, ClientFixture>
