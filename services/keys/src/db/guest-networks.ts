/**
 * When each client network last got new guest devices. The database's clock serves all replicas.
 */

import type { Queryable } from '@gateway/postgres/database'

export interface NetworkLog {
  /** Oldest first. */
  mintedAtMs: number[]
  nowMs: number
}

/** Locks the network's log until the transaction ends, so that two mints never count the same gap. */
export async function lockNetworkLog(transaction: Queryable, networkHash: Uint8Array): Promise<NetworkLog> {
  await transaction.query(
    `insert into keys.guest_networks as held (network_hash) values ($1)
     on conflict (network_hash) do update set minted_at = held.minted_at`,
    [networkHash],
  )
  // A statement of its own: the clock is read after the lock was taken, or waiting for it would make time go backwards.
  const { rows } = await transaction.query<{ mintedAt: Date[]; now: Date }>(
    'select minted_at as "mintedAt", clock_timestamp() as now from keys.guest_networks where network_hash = $1',
    [networkHash],
  )
  const { mintedAt, now } = rows[0]!
  return { mintedAtMs: mintedAt.map((time) => time.getTime()), nowMs: now.getTime() }
}

export async function writeNetworkLog(
  transaction: Queryable,
  networkHash: Uint8Array,
  mintedAtMs: readonly number[],
): Promise<void> {
  await transaction.query('update keys.guest_networks set minted_at = $2 where network_hash = $1', [
    networkHash,
    mintedAtMs.map((timeMs) => new Date(timeMs).toISOString()),
  ])
}

/** Forgets networks whose mints are all too old to count. */
export async function forgetOldNetworks(database: Queryable): Promise<void> {
  await database.query(
    `delete from keys.guest_networks
     where minted_at[array_upper(minted_at, 1)] < now() - interval '1 hour' or cardinality(minted_at) = 0`,
  )
}
