/**
 * Batches the look-ups that anybody may cause. While a query runs, new requests wait for the next one, which looks all of them
 * up. So a flood of made-up keys costs a few queries a second, and a live key waits for one query at the most. Beyond a bound, a
 * request fails at once.
 */

import { batchLookUps } from '@gateway/rpc/batch-look-ups'
import { areLiveAdminKeys } from './db/admin-keys.ts'
import { areKeysOf, findGuestDevices, type GuestDevice } from './db/keys.ts'
import type { KeysDatabase } from './db/tables.ts'

/** Two queries at once: while one hangs, the other serves. */
const BOUNDS = { batchSize: 1_000, concurrency: 2, maxWaiting: 10_000 }

export interface LookUps {
  /** Says whether the key ever belonged to the account, dead or alive. */
  isKeyOf(account: string, hash: Buffer): Promise<boolean>
  guestDevice(deviceHash: Buffer): Promise<GuestDevice>
  isLiveAdminKey(hash: Buffer): Promise<boolean>
}

export function openLookUps(database: KeysDatabase): LookUps {
  const isKeyOf = batchLookUps({
    ...BOUNDS,
    lookUp: async (keys: { account: string; hash: Buffer }[]) => fulfilled(await areKeysOf(database, keys)),
  })
  const guestDevice = batchLookUps({
    ...BOUNDS,
    lookUp: async (hashes: Buffer[]) => fulfilled(await findGuestDevices(database, hashes)),
  })
  const isLiveAdminKey = batchLookUps({
    ...BOUNDS,
    concurrency: 1,
    lookUp: async (hashes: Buffer[]) => fulfilled(await areLiveAdminKeys(database, hashes)),
  })
  return { isKeyOf: (account, hash) => isKeyOf({ account, hash }), guestDevice, isLiveAdminKey }
}

function fulfilled<Value>(replies: Value[]): PromiseSettledResult<Value>[] {
  return replies.map((value) => ({ status: 'fulfilled', value }))
}
