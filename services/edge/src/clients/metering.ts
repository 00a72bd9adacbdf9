/**
 * The edge's calls to the metering service.
 */

import type { Bus } from '@gateway/bus/port'
import { asksOn } from './ask.ts'
import { shareCalls } from './share-calls.ts'

export type MeteringClient = ReturnType<typeof createMeteringClient>

export function createMeteringClient(bus: Bus) {
  const asks = asksOn(bus)
  const warm = asks('meteringWarm')
  return {
    /** Writes the account's window total into the admission store, once for all requests that find it cold at once. */
    warm: shareCalls(
      (account) => account,
      (account: string) => warm({ account }),
    ),
    quota: asks('meteringQuota'),
    usage: asks('meteringAccountUsage'),
  }
}
