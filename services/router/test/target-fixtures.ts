/** The fixtures of all target dialects, from their files in `targets/`. */

import { type ClientDialect, targetDialects, type TargetDialect } from '@gateway/contracts/vendors'
import type { TargetFixture } from './target-fixture.ts'

const loaded = targetDialects.map(async (target) => {
  const { fixture } = (await import(`./targets/${target}.ts`)) as { fixture: TargetFixture }
  return [target, fixture] as const
})

export const TARGETS = Object.fromEntries(await Promise.all(loaded)) as Record<TargetDialect, TargetFixture>

/** The dialect in which a backend gets the client's own request; chat where none speaks it. */
export function nativeOf(client: ClientDialect): TargetDialect {
  return targetDialects.find((target) => target === client) ?? 'chat'
}
