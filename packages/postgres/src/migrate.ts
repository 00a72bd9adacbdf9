/**
 * Brings a service's schema up to date from ordered `.sql` files (`001-accounts.sql`, `002-….sql`).
 *
 * Kysely's migrator applies all missing files in one transaction: a crash leaves all of them applied or none. It refuses
 * a new file that would come before an applied one. The transaction holds a lock of the schema, so replicas that start
 * together take turns and find the work done. The table `migrations` keeps the files' checksums: an applied file that
 * changed is refused. Files run with the schema first in the search path, and without a time limit but for locks.
 */

import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql, type Kysely } from 'kysely'
import { Migrator, type Migration } from 'kysely/migration'
import { openDatabase } from './database.ts'

interface Tables {
  migrations: { name: string; checksum: string }
}

/** SQLSTATE lock_not_available. */
const LOCK_NOT_AVAILABLE = '55P03'
const FILE_NAME = /^\d{3}-[a-z0-9-]+\.sql$/

/** Behind a file that waits for a table's lock, all who use that table wait. */
const LOCK_TIMEOUT_MS = 2_000
const PAUSE_MS = 1_000
const TRIES = 20

interface Files {
  schema: string
  directory: string
}

/**
 * Applies the missing files and returns their names. Where somebody reads a table for long, as a backup does, it requests the
 * table's lock again and again.
 */
export async function migrate(url: string, files: Files): Promise<string[]> {
  await using database = await openDatabase<Tables>(url, { statementTimeoutMs: 0, poolSize: 1 })
  for (let tries = 1; ; tries++) {
    try {
      return await applyMissing(database, files)
    } catch (error) {
      if (!isLockTimeout(error) || tries === TRIES) throw error
      await sleep(PAUSE_MS)
    }
  }
}

function isLockTimeout(error: unknown): boolean {
  const { cause } = error as Error
  return cause instanceof Error && 'code' in cause && cause.code === LOCK_NOT_AVAILABLE
}

async function applyMissing(database: Kysely<Tables>, files: Files): Promise<string[]> {
  const applied: string[] = []
  await database.transaction().execute(async (transaction) => {
    // Releases without Kysely take the same lock.
    await sql`select pg_advisory_xact_lock(hashtextextended(${`migrate:${files.schema}`}, 0))`.execute(transaction)
    await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(transaction)
    const migrator = new Migrator({
      db: transaction,
      migrationTableSchema: files.schema,
      provider: { getMigrations: () => readMigrations(transaction, files, (name) => applied.push(name)) },
    })
    const { error, results } = await migrator.migrateToLatest()
    if (!error) return
    const failed = results?.find(({ status }) => status === 'Error')?.migrationName ?? 'a migration'
    throw new Error(`${failed} of the schema ${files.schema} failed: ${(error as Error).message}`, { cause: error })
  })
  return applied
}

async function readMigrations(
  database: Kysely<Tables>,
  { schema, directory }: { schema: string; directory: string },
  onApplied: (name: string) => void,
): Promise<Record<string, Migration>> {
  const checksums = await readChecksums(database.withSchema(schema))
  // Nothing is left to do for a file that a newer release applied, or a former one, which did without Kysely.
  const migrations: Record<string, Migration> = {}
  for (const name of checksums.keys()) migrations[name] = { up: async () => {} }
  for (const name of await fileNames(directory)) {
    const text = await readFile(join(directory, name), 'utf8')
    const checksum = createHash('sha256').update(text).digest('hex')
    const recorded = checksums.get(name)
    if (recorded === checksum) continue
    if (recorded) throw new Error(`${name} was changed after it had been applied: undo the change and add a new file`)
    migrations[name] = {
      async up(transaction) {
        await sql`set local search_path to ${sql.id(schema)}, public`.execute(transaction)
        await sql.raw(text).execute(transaction)
        await transaction.withSchema(schema).insertInto('migrations').values({ name, checksum }).execute()
        onApplied(name)
      },
    }
  }
  return migrations
}

async function readChecksums(database: Kysely<Tables>): Promise<Map<string, string>> {
  await database.schema
    .createTable('migrations')
    .ifNotExists()
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('checksum', 'text', (column) => column.notNull())
    .addColumn('applied_at', 'timestamptz', (column) => column.notNull().defaultTo(sql`now()`))
    .execute()
  const rows = await database.selectFrom('migrations').select(['name', 'checksum']).execute()
  return new Map(rows.map(({ name, checksum }) => [name, checksum]))
}

async function fileNames(directory: string): Promise<string[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).toSorted()
  const misnamed = names.find((name) => !FILE_NAME.test(name))
  if (misnamed) throw new Error(`${join(directory, misnamed)}: a migration is named like 001-first-tables.sql`)
  const twice = names.find((name, index) => names[index - 1]?.slice(0, 3) === name.slice(0, 3))
  if (twice) throw new Error(`${directory}: ${twice} and another file have the same number`)
  return names
}
