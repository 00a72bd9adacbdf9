/**
 * The outbox: changes that are committed and not yet known everywhere. A change is noted in the transaction that makes
 * it and forgotten when it has been announced, so a crash in between leaves the note for another process.
 */

import type { Queryable } from '@gateway/postgres/database'

export type ChangeReason = 'rotated' | 'revoked' | 'plan' | 'overage' | 'top_up'

export interface Change {
  id: number
  account: string
  reason: ChangeReason
  /** The key that the change killed. */
  deadKey: { keyId: string; hash: Uint8Array; version: number } | null
}

export async function noteChange(transaction: Queryable, change: Omit<Change, 'id'>): Promise<Change> {
  const { rows } = await transaction.query<{ id: number }>(
    'insert into keys.outbox (account, key_id, reason) values ($1, $2, $3) returning id',
    [change.account, change.deadKey?.keyId ?? null, change.reason],
  )
  return { ...change, id: rows[0]!.id }
}

export async function forgetChange(database: Queryable, { id }: Change): Promise<void> {
  await database.query('delete from keys.outbox where id = $1', [id])
}

export async function measureOutbox(database: Queryable): Promise<{ depth: number; oldestSeconds: number }> {
  const { rows } = await database.query<{ depth: number; oldestSeconds: number }>(
    `select count(*)::int as depth, coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as "oldestSeconds"
     from keys.outbox`,
  )
  return rows[0]!
}

/** The oldest change that nobody is announcing, locked: left behind by a crash, or by a store that was away. */
export async function lockLeftChange(transaction: Queryable, olderThanMs: number): Promise<Change | undefined> {
  const { rows } = await transaction.query<{
    id: number
    account: string
    reason: ChangeReason
    keyId: string | null
    hash: Buffer
    version: number
  }>(
    `select change.id, change.account, change.reason, key.key_id as "keyId", key.hash, key.version
     from keys.outbox change left join keys.keys key on key.key_id = change.key_id
     where change.created_at < now() - make_interval(secs => $1)
     order by change.id limit 1 for update of change skip locked`,
    [olderThanMs / 1000],
  )
  const [row] = rows
  if (!row) return undefined
  const { id, account, reason, keyId, hash, version } = row
  return { id, account, reason, deadKey: keyId === null ? null : { keyId, hash, version } }
}
