/**
 * Projects as administrators see them: accounts of groups, and the personal ones of developers. Guests are none.
 */

import { sql } from 'kysely'
import type { Page } from './project-keys.ts'
import type { KeysDatabase } from './tables.ts'

export interface ProjectRow {
  tag: string
  kind: 'developer' | 'project'
  name: string | null
  plan: string
  version: number
  createdAt: Date
  archivedAt: Date | null
  archivedVersion: number | null
}

function projects(database: KeysDatabase) {
  return database
    .selectFrom('keys.accounts as account')
    .leftJoin('keys.projects as project', 'project.account', 'account.tag')
    .select([
      'account.tag',
      'account.kind',
      'project.name',
      'account.plan',
      'account.version',
      'account.created_at as createdAt',
      'project.archived_at as archivedAt',
      'project.archived_version as archivedVersion',
    ])
    .$narrowType<{ kind: ProjectRow['kind'] }>()
    .where('account.kind', '<>', 'guest')
}

export async function insertProject(
  transaction: KeysDatabase,
  { tag, name, plan }: { tag: string; name: string; plan: string },
): Promise<void> {
  await transaction.insertInto('keys.accounts').values({ tag, kind: 'project', plan }).execute()
  await transaction.insertInto('keys.projects').values({ account: tag, name }).execute()
}

export function findProjectRow(database: KeysDatabase, tag: string): Promise<ProjectRow | undefined> {
  return projects(database).where('account.tag', '=', tag).executeTakeFirst()
}

/** Accounts without a name are left out. */
export function listProjectNames(
  database: KeysDatabase,
  tags: readonly string[],
): Promise<{ account: string; name: string }[]> {
  return database
    .selectFrom('keys.projects')
    .select(['account', 'name'])
    .where('account', '=', sql<string>`any(${tags}::text[])`)
    .execute()
}

/** Locks its account, too. A statement of its own reads the project: only that one sees the change that this one waited for. */
export async function lockProjectRow(transaction: KeysDatabase, tag: string): Promise<ProjectRow | undefined> {
  await transaction.selectFrom('keys.accounts').select('tag').where('tag', '=', tag).forUpdate().execute()
  return findProjectRow(transaction, tag)
}

/**
 * PostgreSQL would expect next to no row without a project behind `project.archived_at is null`, and so read and sort all accounts for
 * a page.
 */
export const isLive = sql<boolean>`not exists (
  select from keys.projects archived where archived.account = account.tag and archived.archived_at is not null)`

interface ProjectList {
  after: string | undefined
  limit: number
  withArchived: boolean
  /** Only these; null: all. */
  among: readonly string[] | null
}

/** Newest first; after the project of the tag `after`. Null where there is no such project. */
export async function listProjectRows(
  database: KeysDatabase,
  { after, limit, withArchived, among }: ProjectList,
): Promise<Page<ProjectRow> | null> {
  if (after !== undefined && !(await findProjectRow(database, after))) return null
  const older = sql<boolean>`(account.created_at, account.tag) <
    (select created_at, tag from keys.accounts where tag = ${after})`
  const rows = await projects(database)
    .$if(after !== undefined, (all) => all.where(older))
    .$if(!withArchived, (all) => all.where(isLive))
    .$if(among !== null, (all) => all.where('account.tag', '=', sql<string>`any(${among}::text[])`))
    .orderBy('account.created_at', 'desc')
    .orderBy('account.tag', 'desc')
    .limit(limit + 1)
    .execute()
  return { items: rows.slice(0, limit), hasMore: rows.length > limit }
}

export async function renameProject(transaction: KeysDatabase, tag: string, name: string): Promise<void> {
  await transaction
    .insertInto('keys.projects')
    .values({ account: tag, name })
    .onConflict((conflict) => conflict.column('account').doUpdateSet({ name }))
    .execute()
}

/** `version`: the locked account's, which counted the archive. */
export async function archiveProject(transaction: KeysDatabase, tag: string, version: number): Promise<void> {
  await transaction
    .updateTable('keys.projects')
    .set({ archived_at: sql`now()`, archived_version: version })
    .where('account', '=', tag)
    .execute()
}
