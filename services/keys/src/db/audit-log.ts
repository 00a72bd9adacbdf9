/**
 * The audit log. Each row holds the hash of the row before, and the row `audit_head` the last one. An append locks that row until
 * the commit, so it is the last statement of its transaction.
 */

import type { AuditEventType } from '@gateway/contracts/administration/audit-logs'
import { sql, type RawBuilder } from 'kysely'
import type { ChainLink, ChainRow } from '../core/audit-chain.ts'
import type { LogRow } from '../core/stored-entry.ts'
import { inSmallLetters } from './people.ts'
import type { KeysDatabase } from './tables.ts'

export async function appendToAuditLog(transaction: KeysDatabase, entries: readonly string[]): Promise<void> {
  if (entries.length === 0) return
  await sql`select keys.append_to_audit_log(${entries}::text[])`.execute(transaction)
}

export interface AuditFilter {
  /** Bounds of the time, in milliseconds: from, and before. */
  fromMs: number | null
  beforeMs: number | null
  types: readonly string[] | null
  projects: readonly string[] | null
  actors: readonly string[] | null
  emails: readonly string[] | null
  resources: readonly string[] | null
}

/** True where the log has such a row. `projectId`: null for changes of the organization. */
export async function hasAudited(
  database: KeysDatabase,
  { type, projectId, id }: { type: AuditEventType; projectId: string | null; id: string },
): Promise<boolean> {
  const { rows } = await sql`
    select from keys.audit_log
    where resources @> array[${id}]::text[] and type = ${type}
      and ${projectId === null ? sql`project is null` : sql`project = ${projectId}`}
    limit 1`.execute(database)
  return rows.length > 0
}

const LOG_ROWS = sql`
    select log.seq, log.at_ms as "atMs", log.entry, log.hash, project.name as "projectName"
    from keys.audit_log log left join keys.projects project on project.account = substr(log.project, 6)`

export async function findAuditRow(database: KeysDatabase, seq: number): Promise<LogRow | undefined> {
  const { rows } = await sql<LogRow>`${LOG_ROWS} where log.seq = ${seq}`.execute(database)
  return rows[0]
}

/** `older`: than that row; `newer`: the nearest ones above it. Newest first. */
export async function readAuditLog(
  database: KeysDatabase,
  filter: AuditFilter,
  { older, newer, limit }: { older: number | null; newer: number | null; limit: number },
): Promise<{ rows: LogRow[]; hasMore: boolean }> {
  const towardsNew = older === null && newer !== null
  const { rows } = await sql<LogRow>`
    ${LOG_ROWS}
    where ${sql.join(conditions(filter, older, newer), sql` and `)}
    order by log.seq ${towardsNew ? sql`asc` : sql`desc`} limit ${limit + 1}`.execute(database)
  const page = rows.slice(0, limit)
  return { rows: towardsNew ? page.toReversed() : page, hasMore: rows.length > limit }
}

function conditions(
  { fromMs, beforeMs, types, projects, actors, emails, resources }: AuditFilter,
  older: number | null,
  newer: number | null,
): RawBuilder<boolean>[] {
  return [
    sql<boolean>`true`,
    ...(older === null ? [] : [sql<boolean>`log.seq < ${older}`]),
    ...(newer === null ? [] : [sql<boolean>`log.seq > ${newer}`]),
    ...(fromMs === null ? [] : [sql<boolean>`log.at_ms >= ${fromMs}`]),
    ...(beforeMs === null ? [] : [sql<boolean>`log.at_ms < ${beforeMs}`]),
    ...(types === null ? [] : [sql<boolean>`log.type = any(${types}::text[])`]),
    ...(projects === null ? [] : [sql<boolean>`log.project = any(${projects}::text[])`]),
    ...(actors === null ? [] : [sql<boolean>`log.actors && ${actors}::text[]`]),
    ...(emails === null ? [] : [sql<boolean>`log.actor_email = any(${inSmallLetters(emails)})`]),
    ...(resources === null ? [] : [sql<boolean>`log.resources && ${resources}::text[]`]),
  ]
}

export interface ChainPage {
  start: ChainLink
  rows: ChainRow[]
  /** Null where rows are left behind this page. */
  head: ChainLink | null
}

/** Rows behind `after`, or behind the anchor, as one moment has them. Null where there is no such row. */
export function readChain(
  database: KeysDatabase,
  after: { seq: number; hash: Buffer | null } | null,
  atMost: number,
): Promise<ChainPage | null> {
  return database
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (snapshot) => {
      const head = await snapshot.selectFrom('keys.audit_head').selectAll().executeTakeFirstOrThrow()
      const anchor = { seq: head.anchor_seq, hash: head.anchor_hash }
      const start = after && after.seq > anchor.seq ? await startBehind(snapshot, after) : anchor
      if (!start) return null
      const rows = await chainRows(snapshot)
        .where('seq', '>', start.seq)
        .orderBy('seq')
        .limit(atMost + 1)
        .execute()
      const isLast = rows.length <= atMost
      return { start, rows: rows.slice(0, atMost), head: isLast ? { seq: head.seq, hash: head.hash } : null }
    })
}

async function startBehind(
  snapshot: KeysDatabase,
  { seq, hash }: { seq: number; hash: Buffer | null },
): Promise<ChainLink | null> {
  if (hash) return { seq, hash }
  return (await chainRows(snapshot).where('seq', '=', seq).executeTakeFirst()) ?? null
}

function chainRows(database: KeysDatabase) {
  return database.selectFrom('keys.audit_log').select(['seq', 'at_ms as atMs', 'entry', 'previous', 'hash'])
}

/**
 * Deletes rows from before that time, the oldest first, and anchors the chain at the last of them. The newest row stays. Returns the
 * number of deleted rows.
 */
export function deleteOldRows(database: KeysDatabase, beforeMs: number, atMost: number): Promise<number> {
  return database.transaction().execute(async (transaction) => {
    // Writers wait meanwhile, so a batch is small.
    const head = await transaction.selectFrom('keys.audit_head').selectAll().forUpdate().executeTakeFirstOrThrow()
    const old = await chainRows(transaction)
      .where('at_ms', '<', beforeMs)
      .where('seq', '<', head.seq)
      .orderBy('seq')
      .limit(atMost)
      .execute()
    const last = old.at(-1)
    if (!last) return 0
    await transaction.deleteFrom('keys.audit_log').where('seq', '<=', last.seq).execute()
    await transaction.updateTable('keys.audit_head').set({ anchor_seq: last.seq, anchor_hash: last.hash }).execute()
    return old.length
  })
}
