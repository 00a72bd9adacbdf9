/**
 * The outbox: changes that are committed and not yet known everywhere. A change is noted in the transaction that makes
 * it and forgotten when it has been announced, so a crash in between leaves the note for another process.
 *
 * It has two lanes. A revocation is due on its own, whatever else waits. Any other change is due when its account has no
 * older one left, so that the changes of an account are announced in order. (Ids grow in the order of commits there,
 * because a change is noted under the account's lock.)
 */

import type { Queryable } from '@gateway/postgres/database'
import type { Lane } from '../core/outbox-pace.ts'

/** `facts` is the rest of a revocation: the tombstone is written, and the account's facts are not. */
export type ChangeReason = 'rotated' | 'revoked' | 'plan' | 'overage' | 'top_up' | 'facts'

const REVOCATIONS: readonly ChangeReason[] = ['rotated', 'revoked']

export interface Change {
  id: number
  account: string
  reason: ChangeReason
  /** The key that the change killed. */
  deadKey: { keyId: string; hash: Uint8Array; version: number } | null
}

/** A change that its handler did not announce. */
export interface LeftChange extends Change {
  /** How often its announcement has failed. */
  attempts: number
}

export function laneOf({ reason }: Pick<Change, 'reason'>): Lane {
  return REVOCATIONS.includes(reason) ? 'revocation' : 'account'
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

/** The key is dead everywhere; what is left of the revocation is a change like others. */
export async function leaveFactsOf(database: Queryable, { id }: Change): Promise<void> {
  await database.query(
    `update keys.outbox set reason = 'facts', key_id = null, attempts = 0, next_try_at = now() where id = $1`,
    [id],
  )
}

/** The failed announcement is tried again after a pause. */
export async function postponeChange(database: Queryable, { id }: Change, pauseMs: number): Promise<void> {
  await database.query(
    'update keys.outbox set attempts = attempts + 1, next_try_at = now() + make_interval(secs => $2) where id = $1',
    [id, pauseMs / 1000],
  )
}

export interface LaneState {
  lane: Lane
  depth: number
  oldestSeconds: number
  mostAttempts: number
}

export async function measureOutbox(database: Queryable): Promise<LaneState[]> {
  const { rows } = await database.query<LaneState>(
    `select lane, count(change.id)::int as depth,
       coalesce(extract(epoch from now() - min(change.created_at)), 0)::float8 as "oldestSeconds",
       coalesce(max(change.attempts), 0) as "mostAttempts"
     from unnest(array['revocation', 'account']) as lane
     left join keys.outbox change on (change.reason = any($1)) = (lane = 'revocation')
     group by lane`,
    [REVOCATIONS],
  )
  return rows
}

interface ChangeRow {
  id: number
  account: string
  reason: ChangeReason
  attempts: number
  keyId: string | null
  hash: Buffer
  version: number
}

const CHANGE = `change.id, change.account, change.reason, change.attempts, key.key_id as "keyId", key.hash, key.version`

function toChange({ id, account, reason, attempts, keyId, hash, version }: ChangeRow): LeftChange {
  return { id, account, reason, attempts, deadKey: keyId === null ? null : { keyId, hash, version } }
}

interface Claim {
  lane: Lane
  atMost: number
  /** For how long nobody else takes them. */
  leaseMs: number
  /** Those that this process is announcing already. */
  except: Iterable<number>
}

/** Takes changes that are due: left behind by a crash, or by a store that was away. What has never failed comes first. */
export async function claimLeftChanges(
  database: Queryable,
  { lane, atMost, leaseMs, except }: Claim,
): Promise<LeftChange[]> {
  const { rows } = await database.query<ChangeRow>(
    `with due as (
       select change.id from keys.outbox change
       where change.next_try_at <= now() and change.id <> all($5::bigint[])
         and (change.reason = any($1)) = ($2 = 'revocation')
         and ($2 = 'revocation' or not exists (
           select from keys.outbox earlier
           where earlier.account = change.account and earlier.id < change.id and not earlier.reason = any($1)))
       order by change.attempts, change.id limit $3 for update skip locked
     ), claimed as (
       update keys.outbox change set next_try_at = now() + make_interval(secs => $4) from due
       where change.id = due.id returning change.*
     )
     select ${CHANGE} from claimed change left join keys.keys key on key.key_id = change.key_id order by change.id`,
    [REVOCATIONS, lane, atMost, leaseMs / 1000, [...except]],
  )
  return rows.map(toChange)
}

/** The oldest change of the account that is no revocation, up to the given one. */
export async function firstChangeUpTo(database: Queryable, { account, id }: Change): Promise<Change | undefined> {
  const { rows } = await database.query<ChangeRow>(
    `select ${CHANGE} from keys.outbox change left join keys.keys key on key.key_id = change.key_id
     where change.account = $1 and change.id <= $2 and not change.reason = any($3)
     order by change.id limit 1`,
    [account, id, REVOCATIONS],
  )
  return rows[0] && toChange(rows[0])
}
