/**
 * The outbox: changes that are committed and not yet known everywhere. The transaction of a change also inserts its row. The
 * announcer deletes the row after the announcement, so a crash in between leaves it for another process.
 *
 * It has two lanes. A revocation waits for no other change. Any other change is due when its account has no
 * older one left, so that the changes of an account are announced in order. (Ids grow in the order of commits there,
 * because a change is noted under the account's lock.)
 */

import { sql } from 'kysely'
import type { KeysDatabase } from './tables.ts'

/** `facts` is the rest of a revocation: the tombstone is written, and the account's state is not. */
export type ChangeReason = 'rotated' | 'revoked' | 'plan' | 'overage' | 'top_up' | 'facts'

export type Lane = 'revocation' | 'account'

const REVOCATIONS: readonly ChangeReason[] = ['rotated', 'revoked']

export interface Change {
  id: number
  account: string
  reason: ChangeReason
  /** The key that the change killed. */
  deadKey: { keyId: string; hash: Buffer; version: number } | null
}

/** A change that its handler did not announce. */
export interface LeftChange extends Change {
  /** The number of failed announcements. */
  attempts: number
}

export function laneOf({ reason }: Pick<Change, 'reason'>): Lane {
  return REVOCATIONS.includes(reason) ? 'revocation' : 'account'
}

export async function noteChange(transaction: KeysDatabase, change: Omit<Change, 'id'>): Promise<Change> {
  const { account, reason, deadKey } = change
  const { id } = await transaction
    .insertInto('keys.outbox')
    .values({ account, reason, key_id: deadKey?.keyId ?? null })
    .returning('id')
    .executeTakeFirstOrThrow()
  return { ...change, id }
}

export async function forgetChange(database: KeysDatabase, { id }: Change): Promise<void> {
  await database.deleteFrom('keys.outbox').where('id', '=', id).execute()
}

/** The key is dead everywhere; the account's state remains to be written, as a change like others. */
export async function leaveFactsOf(database: KeysDatabase, { id }: Change): Promise<void> {
  await database
    .updateTable('keys.outbox')
    .set({ reason: 'facts', key_id: null, attempts: 0, next_try_at: sql`now()` })
    .where('id', '=', id)
    .execute()
}

/** The failed announcement is tried again after a pause. */
export async function postponeChange(database: KeysDatabase, { id }: Change, byMs: number): Promise<void> {
  await database
    .updateTable('keys.outbox')
    .set({ attempts: sql`attempts + 1`, next_try_at: inMs(byMs) })
    .where('id', '=', id)
    .execute()
}

const FIRST_PAUSE_MS = 1_000
/** A revoke costs one call of the admission store, and somebody may be using the key meanwhile: it never pauses long. */
const LONGEST_PAUSE_MS: Record<Lane, number> = { revocation: 2_000, account: 15_000 }

/** `attempts`: the number of failed announcements; 0 is no pause. */
export function pauseMs(lane: Lane, attempts: number): number {
  return attempts === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (attempts - 1), LONGEST_PAUSE_MS[lane])
}

const inMs = (waitMs: number) => sql<Date>`now() + make_interval(secs => ${waitMs / 1000})`

interface LaneState {
  lane: Lane
  depth: number
  oldestSeconds: number
  mostAttempts: number
}

export async function measureOutbox(database: KeysDatabase): Promise<LaneState[]> {
  const { rows } = await sql<LaneState>`
    select lane, count(change.id)::int as depth,
      coalesce(extract(epoch from now() - min(change.created_at)), 0)::float8 as "oldestSeconds",
      coalesce(max(change.attempts), 0) as "mostAttempts"
    from unnest(array['revocation', 'account']) as lane
    left join keys.outbox change on (change.reason = any(${REVOCATIONS})) = (lane = 'revocation')
    group by lane`.execute(database)
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

const CHANGE = sql`change.id, change.account, change.reason, change.attempts, key.key_id as "keyId", key.hash, key.version`

function toChange({ id, account, reason, attempts, keyId, hash, version }: ChangeRow): LeftChange {
  return { id, account, reason, attempts, deadKey: keyId === null ? null : { keyId, hash, version } }
}

interface Claim {
  lane: Lane
  atMost: number
  /** Nobody else takes them for so long. */
  leaseMs: number
  /** The changes that this process announces already. */
  except: Iterable<number>
}

/** Takes changes that are due: left behind by a crash, or by a store that was away. Changes that have never failed come first. */
export async function claimLeftChanges(
  database: KeysDatabase,
  { lane, atMost, leaseMs, except }: Claim,
): Promise<LeftChange[]> {
  const { rows } = await sql<ChangeRow>`
    with due as (
      select change.id from keys.outbox change
      where change.next_try_at <= now() and change.id <> all(${[...except]}::bigint[])
        and (change.reason = any(${REVOCATIONS})) = ${lane === 'revocation'}
        and (${lane === 'revocation'} or not exists (
          select from keys.outbox earlier
          where earlier.account = change.account and earlier.id < change.id
            and not earlier.reason = any(${REVOCATIONS})))
      order by change.attempts, change.id limit ${atMost} for update skip locked
    ), claimed as (
      update keys.outbox change set next_try_at = ${inMs(leaseMs)} from due
      where change.id = due.id returning change.*
    )
    select ${CHANGE} from claimed change left join keys.keys key on key.key_id = change.key_id order by change.id
  `.execute(database)
  return rows.map(toChange)
}

/** The oldest change of the account that is no revocation, up to the given one. */
export async function firstChangeUpTo(database: KeysDatabase, { account, id }: Change): Promise<Change | undefined> {
  const { rows } = await sql<ChangeRow>`
    select ${CHANGE} from keys.outbox change left join keys.keys key on key.key_id = change.key_id
    where change.account = ${account} and change.id <= ${id} and not change.reason = any(${REVOCATIONS})
    order by change.id limit 1`.execute(database)
  return rows[0] && toChange(rows[0])
}
