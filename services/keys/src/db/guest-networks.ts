/**
 * When each client network last got new guest devices. The database's clock serves all replicas.
 */

import { sql } from 'kysely'
import type { KeysDatabase } from './tables.ts'

interface NetworkLog {
  /** Oldest first. */
  mintedAtMs: number[]
  nowMs: number
}

/** Locks the network's log until the transaction ends, so that two mints never count the same gap. */
export async function lockNetworkLog(transaction: KeysDatabase, networkHash: Buffer): Promise<NetworkLog> {
  await transaction
    .insertInto('keys.guest_networks')
    .values({ network_hash: networkHash })
    .onConflict((conflict) =>
      conflict.column('network_hash').doUpdateSet(({ ref }) => ({ minted_at: ref('keys.guest_networks.minted_at') })),
    )
    .execute()
  // A statement of its own: the clock is read after the lock was taken, or waiting for it would make time go backwards.
  const { minted_at, now } = await transaction
    .selectFrom('keys.guest_networks')
    .select(['minted_at', sql<Date>`clock_timestamp()`.as('now')])
    .where('network_hash', '=', networkHash)
    .executeTakeFirstOrThrow()
  return { mintedAtMs: minted_at.map((time) => time.getTime()), nowMs: now.getTime() }
}

export async function writeNetworkLog(
  transaction: KeysDatabase,
  networkHash: Buffer,
  mintedAtMs: readonly number[],
): Promise<void> {
  await transaction
    .updateTable('keys.guest_networks')
    .set({ minted_at: mintedAtMs.map((timeMs) => new Date(timeMs)) })
    .where('network_hash', '=', networkHash)
    .execute()
}

/** Forgets networks whose mints are all too old to count. */
export async function forgetOldNetworks(database: KeysDatabase): Promise<void> {
  await database
    .deleteFrom('keys.guest_networks')
    .where(sql<boolean>`minted_at[array_upper(minted_at, 1)] < now() - interval '1 hour' or cardinality(minted_at) = 0`)
    .execute()
}
