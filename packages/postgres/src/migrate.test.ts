import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestDatabase, type TestDatabase } from '@gateway/servers/start'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openDatabase, type Database } from './database.ts'
import { migrate } from './migrate.ts'

const FIRST = { '001-words.sql': 'CREATE TABLE words (word text PRIMARY KEY)' }
const SECOND = { '002-first-word.sql': `INSERT INTO words VALUES ('hello')` }

let server: TestDatabase
let database: Database
let folder: string
let schema: string
let schemas = 0

beforeAll(async () => {
  server = await createTestDatabase()
  database = await openDatabase(server.url)
  folder = await mkdtemp(join(tmpdir(), 'migrations-'))
})

beforeEach(() => {
  schema = `team_${++schemas}`
})

afterAll(async () => {
  await database?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

test('files run in order, once', async () => {
  const directory = await write({ ...SECOND, ...FIRST, 'README.md': 'not a migration' })
  await expect(migrate(server.url, { schema, directory })).resolves.toEqual(['001-words.sql', '002-first-word.sql'])
  await expect(migrate(server.url, { schema, directory })).resolves.toEqual([])
  await expect(words()).resolves.toEqual(['hello'])
})

test('a file added later runs alone', async () => {
  await migrate(server.url, { schema, directory: await write(FIRST) })
  const directory = await write({ ...FIRST, ...SECOND })
  await expect(migrate(server.url, { schema, directory })).resolves.toEqual(['002-first-word.sql'])
})

test('replicas that start together apply each file once', async () => {
  const directory = await write({ ...FIRST, ...SECOND })
  const applied = await Promise.all(Array.from({ length: 6 }, () => migrate(server.url, { schema, directory })))
  expect(applied.flat().toSorted()).toEqual(['001-words.sql', '002-first-word.sql'])
  await expect(words()).resolves.toEqual(['hello'])
})

test('the lock ends with the transaction: a pooler in transaction mode lends a session for no longer', async () => {
  const countLocks = `
    SELECT pg_advisory_unlock_all();
    CREATE TABLE locks AS SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`
  await migrate(server.url, { schema, directory: await write({ '001-locks.sql': countLocks }) })
  await expect(database.query(`SELECT FROM ${schema}.locks`)).resolves.toMatchObject({ rows: { length: 1 } })
})

test('a release without Kysely, which migrates at the same time, waits for its turn', async () => {
  const waiting = database.transaction().execute(async (former) => {
    await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`migrate:${schema}`}, 0))`.execute(former)
    let isDone = false
    const done = migrate(server.url, { schema, directory: await write(FIRST) }).then(() => (isDone = true))
    await expect.poll(waiters).toBe(1)
    expect(isDone).toBe(false)
    return { done }
  })
  await expect((await waiting).done).resolves.toBe(true)
})

test('a file that waits for a table which somebody reads for long holds up no writer of that table', async () => {
  await migrate(server.url, { schema, directory: await write(FIRST) })
  const directory = await write({ ...FIRST, '002-count.sql': 'ALTER TABLE words ADD COLUMN count int' })
  const reader = await openDatabase(server.url, { poolSize: 1 })
  try {
    await reader.query(`BEGIN; SELECT FROM ${schema}.words`)
    const migrating = migrate(server.url, { schema, directory })
    const waiting = `SELECT FROM pg_locks WHERE relation = '${schema}.words'::regclass AND NOT granted`
    await expect.poll(async () => (await database.query(waiting)).rows).toHaveLength(1)
    await database.query(`INSERT INTO ${schema}.words VALUES ('written')`)
    await reader.query('COMMIT')
    await expect(migrating).resolves.toEqual(['002-count.sql'])
  } finally {
    await reader.destroy()
  }
})

test('a file that fails leaves nothing of itself or of the files before it, and can be tried again', async () => {
  const broken = await write({ ...FIRST, '002-first-word.sql': `INSERT INTO words VALUES ('half'); SELECT nonsense` })
  await expect(migrate(server.url, { schema, directory: broken })).rejects.toThrow(
    /002-first-word\.sql .* failed: .*nonsense/,
  )
  await expect(words()).rejects.toThrow('does not exist')
  await expect(migrate(server.url, { schema, directory: await write({ ...FIRST, ...SECOND }) })).resolves.toEqual([
    '001-words.sql',
    '002-first-word.sql',
  ])
})

test('an applied file that changed is refused', async () => {
  await migrate(server.url, { schema, directory: await write(FIRST) })
  const directory = await write({ '001-words.sql': 'CREATE TABLE terms (term text)' })
  await expect(migrate(server.url, { schema, directory })).rejects.toThrow(
    /001-words\.sql was changed after it had been applied/,
  )
})

test('a new file numbered before an applied one is refused', async () => {
  await migrate(server.url, { schema, directory: await write({ '002-words.sql': FIRST['001-words.sql'] }) })
  const directory = await write({ '001-early.sql': 'SELECT 1', '002-words.sql': FIRST['001-words.sql'] })
  await expect(migrate(server.url, { schema, directory })).rejects.toThrow(/001-early\.sql was found in its place/)
})

test('an older release starts on the schema of a newer one', async () => {
  await migrate(server.url, { schema, directory: await write({ ...FIRST, ...SECOND }) })
  await expect(migrate(server.url, { schema, directory: await write(FIRST) })).resolves.toEqual([])
})

test('a database that a release without Kysely migrated is taken over: nothing runs again, later files run', async () => {
  const checksum = createHash('sha256').update(FIRST['001-words.sql']).digest('hex')
  await database.query(`
    CREATE SCHEMA ${schema};
    CREATE TABLE ${schema}.migrations (
      name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
    CREATE TABLE ${schema}.words (word text PRIMARY KEY);
    INSERT INTO ${schema}.words VALUES ('kept');
    INSERT INTO ${schema}.migrations VALUES ('001-words.sql', '${checksum}')`)
  const changed = await write({ '001-words.sql': 'CREATE TABLE terms (term text)' })
  await expect(migrate(server.url, { schema, directory: changed })).rejects.toThrow('was changed')
  await expect(migrate(server.url, { schema, directory: await write(FIRST) })).resolves.toEqual([])
  const directory = await write({ ...FIRST, ...SECOND })
  const applied = await Promise.all([1, 2].map(() => migrate(server.url, { schema, directory })))
  expect(applied.flat()).toEqual(['002-first-word.sql'])
  await expect(words()).resolves.toEqual(['hello', 'kept'])
  const { rows } = await database.query(`SELECT name FROM ${schema}.kysely_migration ORDER BY name`)
  expect(rows).toEqual([{ name: '001-words.sql' }, { name: '002-first-word.sql' }])
})

test('two files with one number, or a name out of the pattern, are refused', async () => {
  const twice = await write({ ...FIRST, '001-again.sql': 'SELECT 1' })
  await expect(migrate(server.url, { schema, directory: twice })).rejects.toThrow('the same number')
  const misnamed = await write({ 'words.sql': 'SELECT 1' })
  await expect(migrate(server.url, { schema, directory: misnamed })).rejects.toThrow('is named like')
})

test('two schemas of one database do not know each other', async () => {
  await migrate(server.url, { schema, directory: await write(FIRST) })
  await expect(migrate(server.url, { schema: `${schema}_b`, directory: await write(FIRST) })).resolves.toEqual([
    '001-words.sql',
  ])
})

async function write(files: Record<string, string>): Promise<string> {
  const directory = join(folder, `${Math.random()}`)
  await mkdir(directory)
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text)
  return directory
}

/** Those that wait for a lock of another. */
async function waiters(): Promise<number> {
  const { rows } = await database.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`)
  return rows.length
}

async function words(): Promise<string[]> {
  const { rows } = await database.query<{ word: string }>(`SELECT word FROM ${schema}.words ORDER BY word`)
  return rows.map(({ word }) => word)
}
