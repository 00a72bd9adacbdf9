/**
 * The outbox: changes that are committed and not yet known everywhere. The transaction of a change also inserts its row. The
 * announcer deletes the row after the announcement, so a crash in between leaves it for another process.
 *
 * Changes of projects, and suspensions, stand in a table of their own. A process of release 0.1.0 does not read it, and would write a
 * project without its limits into the admission store. A change there is of the keys that have its version.
 *
 * It has two lanes. A revocation waits for no other change. Any other change is due when its account has no
 * older one left, so that the changes of an account are announced in order. (Ids grow in the order of commits there,
 * because a change is noted under the account's lock.)
 */

import { type RawBuilder, sql } from 'kysely'
import type { KeysDatabase } from './tables.ts'

/**
 * `facts` is the rest of a revocation: the tombstone is written, and the account's state is not. `key`: limits of a project's key.
 * `limits`: those of a project.
 */
export type ChangeReason =
  | 'rotated'
  | 'revoked'
  | 'archived'
  | 'suspended'
  | 'restored'
  | 'plan'
  | 'overage'
  | 'top_up'
  | 'key'
  | 'limits'
  | 'facts'

export type Lane = 'revocation' | 'account'

const REVOCATIONS: readonly ChangeReason[] = ['rotated', 'revoked', 'archived', 'suspended']

export type OutboxName = 'keys.outbox' | 'keys.project_outbox'
export const OUTBOXES: readonly OutboxName[] = ['keys.outbox', 'keys.project_outbox']

export interface ChangedKey {
  keyId: string
  hash: Buffer
  version: number
}
export type DeadKey = ChangedKey

export interface Change {
  outbox: OutboxName
  id: number
  account: string
  reason: ChangeReason
  /** Of a project's change: the account's version. */
  version: number | null
  /** The keys that the change killed. */
  deadKeys: readonly DeadKey[]
  /** The living keys that the change wrote, those of a suspended account too. */
  changedKeys: readonly ChangedKey[]
}

/** A change that its handler did not announce. */
export interface LeftChange extends Change {
  /** The number of failed announcements. */
  attempts: number
}

export function laneOf({ reason }: Pick<Change, 'reason'>): Lane {
  return REVOCATIONS.includes(reason) ? 'revocation' : 'account'
}

interface NewChange {
  account: string
  reason: ChangeReason
  /** A developer's key that the change killed. */
  deadKey: DeadKey | null
}

/** Notes a change of a locked account. */
export async function noteChange(transaction: KeysDatabase, { account, reason, deadKey }: NewChange): Promise<Change> {
  if (!deadKey) {
    const { kind, version } = await transaction
      .selectFrom('keys.accounts')
      .select(['kind', 'version'])
      .where('tag', '=', account)
      .executeTakeFirstOrThrow()
    if (kind === 'project') return noteProjectChange(transaction, { account, reason, version })
  }
  const { id } = await transaction
    .insertInto('keys.outbox')
    .values({ account, reason, key_id: deadKey?.keyId ?? null })
    .returning('id')
    .executeTakeFirstOrThrow()
  const deadKeys = deadKey ? [deadKey] : []
  return { outbox: 'keys.outbox', id, account, reason, version: null, deadKeys, changedKeys: [] }
}

/** `version`: the locked account's, which counted the change. */
export async function noteProjectChange(
  transaction: KeysDatabase,
  { account, reason, version }: { account: string; reason: ChangeReason; version: number },
): Promise<Change> {
  const { rows } = await sql<ChangeRow>`
    with change as (
      insert into keys.project_outbox (account, reason, version) values (${account}, ${reason}, ${version}) returning *
    )
    ${selectChanges('keys.project_outbox', sql`change`)}`.execute(transaction)
  return toChanges('keys.project_outbox', rows)[0]!
}

export async function forgetChange(database: KeysDatabase, { outbox, id }: Change): Promise<void> {
  await database.deleteFrom(outbox).where('id', '=', id).execute()
}

/** The key is dead everywhere; the account's state remains to be written, as a change like others. */
export async function leaveFactsOf(database: KeysDatabase, { outbox, id }: Change): Promise<void> {
  await database
    .updateTable(outbox)
    .set({ reason: 'facts', attempts: 0, next_try_at: sql`now()` })
    .where('id', '=', id)
    .execute()
}

/** The failed announcement is tried again after a pause. */
export async function postponeChange(database: KeysDatabase, { outbox, id }: Change, byMs: number): Promise<void> {
  await database
    .updateTable(outbox)
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
    select lane, count(change.reason)::int as depth,
      coalesce(extract(epoch from now() - min(change.created_at)), 0)::float8 as "oldestSeconds",
      coalesce(max(change.attempts), 0) as "mostAttempts"
    from unnest(array['revocation', 'account']) as lane
    left join (
      select reason, created_at, attempts from keys.outbox
      union all select reason, created_at, attempts from keys.project_outbox
    ) change on (change.reason = any(${REVOCATIONS})) = (lane = 'revocation')
    group by lane`.execute(database)
  return rows
}

/** A change and one of its keys; its own version is null in the table that has none. */
interface ChangeRow {
  id: number
  account: string
  reason: ChangeReason
  attempts: number
  changeVersion: number | null
  keyId: string | null
  hash: Buffer
  version: number
  isDead: boolean
}

const KEY_OF = sql`(select key_id, hash, version, true as dead from keys.keys where key_id = change.key_id)`
const KEYS_OF_PROJECT = sql`(
  select key_id, hash, version, deactivated_at is not null as dead from keys.project_keys
  where account = change.account and version = change.version
  union all
  select key_id, hash, version, true from keys.replaced_values
  where account = change.account and version = change.version
  union all
  select key_id, hash, version, status = 'deactivated' from keys.keys
  where account = change.account and version = change.version)`

/** A row for each key of the changes in `from`, or one without a key. */
function selectChanges(outbox: OutboxName, from: RawBuilder<unknown>): RawBuilder<ChangeRow> {
  const isOfProject = outbox === 'keys.project_outbox'
  return sql<ChangeRow>`
    select change.id, change.account, change.reason, change.attempts,
      ${isOfProject ? sql`change.version` : sql`null::bigint`} as "changeVersion",
      key.key_id as "keyId", key.hash, key.version, key.dead as "isDead"
    from ${from} left join lateral ${isOfProject ? KEYS_OF_PROJECT : KEY_OF} as key on true
    order by change.id`
}

function toChanges(outbox: OutboxName, rows: readonly ChangeRow[]): LeftChange[] {
  return [...Map.groupBy(rows, ({ id }) => id).values()].map((ofOne) => {
    const { id, account, reason, attempts, changeVersion } = ofOne[0]!
    const keys = ofOne.flatMap(({ keyId, hash, version, isDead }) =>
      keyId === null ? [] : [{ keyId, hash, version, isDead }],
    )
    const [deadKeys, changedKeys] = [true, false].map((dead) =>
      keys.filter(({ isDead }) => isDead === dead).map(({ keyId, hash, version }) => ({ keyId, hash, version })),
    ) as [DeadKey[], ChangedKey[]]
    return { outbox, id, account, reason, attempts, version: changeVersion, deadKeys, changedKeys }
  })
}

/** The changes of these accounts that are not known everywhere yet. */
export async function readLeftChanges(database: KeysDatabase, accounts: readonly string[]): Promise<Change[]> {
  const ofEach = OUTBOXES.map(async (outbox) => {
    const left = sql`(select * from ${sql.table(outbox)} where account = any(${accounts}::text[])) as change`
    return toChanges(outbox, (await selectChanges(outbox, left).execute(database)).rows)
  })
  return (await Promise.all(ofEach)).flat()
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
  outbox: OutboxName,
  { lane, atMost, leaseMs, except }: Claim,
): Promise<LeftChange[]> {
  const table = sql.table(outbox)
  const { rows } = await sql<ChangeRow>`
    with due as (
      select change.id from ${table} change
      where change.next_try_at <= now() and change.id <> all(${[...except]}::bigint[])
        and (change.reason = any(${REVOCATIONS})) = ${lane === 'revocation'}
        and (${lane === 'revocation'} or not exists (
          select from ${table} earlier
          where earlier.account = change.account and earlier.id < change.id
            and not earlier.reason = any(${REVOCATIONS})))
      order by change.attempts, change.id limit ${atMost} for update skip locked
    ), claimed as (
      update ${table} change set next_try_at = ${inMs(leaseMs)} from due
      where change.id = due.id returning change.*
    )
    ${selectChanges(outbox, sql`claimed change`)}`.execute(database)
  return toChanges(outbox, rows)
}

/** The oldest change of the account that is no revocation, up to the given one. */
export async function firstChangeUpTo(
  database: KeysDatabase,
  { outbox, account, id }: Change,
): Promise<Change | undefined> {
  const { rows } = await sql<ChangeRow>`
    with first as (
      select * from ${sql.table(outbox)} change
      where change.account = ${account} and change.id <= ${id} and not change.reason = any(${REVOCATIONS})
      order by change.id limit 1
    )
    ${selectChanges(outbox, sql`first change`)}`.execute(database)
  return toChanges(outbox, rows)[0]
}
