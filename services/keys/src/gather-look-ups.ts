/**
 * Look-ups that anybody may cause, gathered: while a query runs, the questions that come in wait for the next one, which
 * asks for all of them. So a flood of made-up keys costs a few queries a second, and a live key waits for one query at
 * the most, whatever else is asked. Beyond a bound a question is refused at once.
 */

import { batchLookUps } from '@gateway/rpc/batch-look-ups'
import { areKeysOf, findGuestDevices, type GuestDevice } from './db/keys.ts'
import type { KeysDatabase } from './db/tables.ts'

/** Two queries at once: one that hangs leaves the way to another. */
const BOUNDS = { batchSize: 1_000, concurrency: 2, maxWaiting: 10_000 }

export interface LookUps {
  /** Whether the account has had such a key, dead or alive. */
  isKeyOf(account: string, hash: Buffer): Promise<boolean>
  guestDevice(deviceHash: Buffer): Promise<GuestDevice>
}

export function openLookUps(database: KeysDatabase): LookUps {
  const isKeyOf = batchLookUps({
    ...BOUNDS,
    lookUp: async (keys: { account: string; hash: Buffer }[]) => answered(await areKeysOf(database, keys)),
  })
  const guestDevice = batchLookUps({
    ...BOUNDS,
    lookUp: async (hashes: Buffer[]) => answered(await findGuestDevices(database, hashes)),
  })
  return { isKeyOf: (account, hash) => isKeyOf({ account, hash }), guestDevice }
}

function answered<Answer>(answers: Answer[]): PromiseSettledResult<Answer>[] {
  return answers.map((value) => ({ status: 'fulfilled', value }))
}
