/**
 * Brings a service's schema up to date from ordered `.sql` files (`001-accounts.sql`, `002-….sql`).
 *
 * Each file runs once, in a transaction that also records it, so a crash leaves a file applied or not, never half. The
 * transaction holds a lock of the schema: replicas that start together take turns and find the work done. Files that
 * were applied are history: one that changed, or a new one that would come before them, is refused.
 * Files run with the schema first in the search path and without a time limit.
 */

import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database, Queryable } from './database.ts'

const FILE_NAME = /^\d{3,}-[a-z0-9-]+\.sql$/
const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,62}$/

interface Migration {
  name: string
  checksum: string
  sql: string
}

/** Applies what is missing and answers the names of the files that it applied. */
export async function migrate(database: Database, options: { schema: string; directory: string }): Promise<string[]> {
  const { schema, directory } = options
  if (!SCHEMA_NAME.test(schema)) throw new Error(`${schema} cannot be a schema's name`)
  const migrations = await readMigrations(directory)
  const applied: string[] = []
  await underLock(database, schema, (transaction) => prepare(transaction, schema))
  for (const migration of migrations) {
    await underLock(database, schema, async (transaction) => {
      if (await isApplied(transaction, schema, migration)) return
      await apply(transaction, schema, migration)
      applied.push(migration.name)
    })
  }
  return applied
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql'))
  const misnamed = names.find((name) => !FILE_NAME.test(name))
  if (misnamed) throw new Error(`${join(directory, misnamed)}: a migration is named like 001-first-tables.sql`)
  const inOrder = names.sort((a, b) => Number.parseInt(a) - Number.parseInt(b))
  inOrder.forEach((name, index) => {
    const before = inOrder[index - 1]
    if (before && Number.parseInt(before) === Number.parseInt(name)) {
      throw new Error(`${directory}: ${before} and ${name} have the same number`)
    }
  })
  return Promise.all(
    inOrder.map(async (name) => {
      const sql = await readFile(join(directory, name), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

function underLock(database: Database, schema: string, work: (transaction: Queryable) => Promise<void>): Promise<void> {
  return database.transaction(
    async (transaction) => {
      await transaction.query(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, [`migrate:${schema}`])
      await work(transaction)
    },
    // A large table's migration takes its time, and so does waiting for the replica that runs it.
    { statementTimeoutMs: 0 },
  )
}

async function prepare(transaction: Queryable, schema: string): Promise<void> {
  await transaction.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
  await transaction.query(`CREATE TABLE IF NOT EXISTS ${schema}.migrations (
    name text PRIMARY KEY,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
  )`)
}

async function isApplied(transaction: Queryable, schema: string, migration: Migration): Promise<boolean> {
  const { rows } = await transaction.query<{ name: string; checksum: string }>(
    `SELECT name, checksum FROM ${schema}.migrations`,
  )
  const record = rows.find((row) => row.name === migration.name)
  if (record && record.checksum !== migration.checksum) {
    throw new Error(
      `${migration.name} of the schema ${schema} was changed after it had been applied: undo the change and add a new file`,
    )
  }
  const later = rows.find((row) => Number.parseInt(row.name) >= Number.parseInt(migration.name))
  if (!record && later) {
    throw new Error(
      `${migration.name} of the schema ${schema} comes too late: ${later.name} is applied already; give it a higher number`,
    )
  }
  return record !== undefined
}

async function apply(transaction: Queryable, schema: string, migration: Migration): Promise<void> {
  try {
    await transaction.query(`SET LOCAL search_path TO ${schema}, public`)
    await transaction.query(migration.sql)
  } catch (error) {
    throw new Error(`${migration.name} of the schema ${schema} failed: ${(error as Error).message}`, { cause: error })
  }
  await transaction.query(`INSERT INTO ${schema}.migrations (name, checksum) VALUES ($1, $2)`, [
    migration.name,
    migration.checksum,
  ])
}
