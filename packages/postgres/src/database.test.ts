import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase, type Database } from './database.ts'

let server: PostgresServer
let database: Database

beforeAll(async () => {
  server = await startPostgres({ own: true })
  database = await openDatabase(server.url, { poolSize: 4 })
  await database.query('CREATE TABLE notes (id bigint PRIMARY KEY, text text NOT NULL)')
})

afterAll(async () => {
  await database?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
})

test('a query returns rows', async () => {
  const { rows } = await database.query<{ n: number }>('SELECT n FROM generate_series(1, $1::int) AS n', [3])
  expect(rows).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
})

test('a bigint is an exact number', async () => {
  const { rows } = await database.query(
    `SELECT ${Number.MAX_SAFE_INTEGER}::bigint AS one, ARRAY[1, NULL, 9000000000]::bigint[] AS many`,
  )
  expect(rows).toEqual([{ one: Number.MAX_SAFE_INTEGER, many: [1, null, 9_000_000_000] }])
})

test('a bigint that no number holds exactly is an error, and the pool goes on', async () => {
  await expect(database.query('SELECT 9007199254740993::bigint')).rejects.toThrow('9007199254740993')
  await expect(database.query('SELECT 1::bigint AS n')).resolves.toMatchObject({ rows: [{ n: 1 }] })
})

test('a transaction commits all of its work', async () => {
  const result = await database.transaction().execute(async (transaction) => {
    await sql`INSERT INTO notes VALUES (1, 'a'), (2, 'b')`.execute(transaction)
    return 'done'
  })
  expect(result).toBe('done')
  await expect(countNotes('1, 2')).resolves.toBe(2)
})

test('a transaction whose work throws leaves nothing behind', async () => {
  const work = database.transaction().execute(async (transaction) => {
    await sql`INSERT INTO notes VALUES (3, 'c')`.execute(transaction)
    throw new Error('changed my mind')
  })
  await expect(work).rejects.toThrow('changed my mind')
  await expect(countNotes('3')).resolves.toBe(0)
})

test('a transaction that swallowed a failed statement does not pretend to have committed', async () => {
  const work = database.transaction().execute(async (transaction) => {
    await sql`INSERT INTO notes VALUES (4, 'd')`.execute(transaction)
    await sql`SELECT 1 / 0`.execute(transaction).catch(() => {})
  })
  await expect(work).rejects.toThrow('rolled back')
  await expect(countNotes('4')).resolves.toBe(0)
})

test('a query that outlives its transaction is refused', async () => {
  const escaped = await database.transaction().execute(async (transaction) => transaction)
  await expect(sql`SELECT 1`.execute(escaped)).rejects.toThrow('committed')
})

test('a statement that takes too long is ended', async () => {
  await using impatient = await openDatabase(server.url, { poolSize: 1, statementTimeoutMs: 100 })
  await expect(impatient.query('SELECT pg_sleep(30)')).rejects.toThrow('statement timeout')
  await expect(impatient.query('SELECT 1')).resolves.toMatchObject({ rows: [{}] })
})

test('a failed statement costs no connection', async () => {
  await using single = await openDatabase(server.url, { poolSize: 1 })
  const backend = () => single.query<{ pid: number }>('SELECT pg_backend_pid() AS pid').then(({ rows }) => rows[0]!.pid)
  const before = await backend()
  await expect(single.query('SELECT nonsense')).rejects.toThrow('nonsense')
  await expect(backend()).resolves.toBe(before)
})

test('a connection to a server that only reads is replaced: after a failover the next may be the primary', async () => {
  await using single = await openDatabase(server.url, { poolSize: 1 })
  const write = () => single.query('INSERT INTO notes VALUES (6, $1) ON CONFLICT DO NOTHING', ['f'])
  await single.query('SET default_transaction_read_only = on')
  await expect(write()).rejects.toThrow('read-only')
  await expect(write()).resolves.toMatchObject({ numAffectedRows: 1n })
})

test('a connection killed inside a transaction fails that transaction alone', async () => {
  const work = database.transaction().execute(async (transaction) => {
    const { rows } = await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(transaction)
    await sql`INSERT INTO notes VALUES (5, 'e')`.execute(transaction)
    await database.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid])
    await sql`SELECT 1`.execute(transaction)
  })
  await expect(work).rejects.toThrow()
  await expect(countNotes('5')).resolves.toBe(0)
})

test('a server that is killed and comes back is used again, and nothing crashes meanwhile', async () => {
  const lost: Error[] = []
  await using watched = await openDatabase(server.url, { poolSize: 2, onConnectionLost: (error) => lost.push(error) })
  await server.kill('SIGKILL')
  await expect.poll(() => lost).toHaveLength(1)
  await expect(watched.query('SELECT 1')).rejects.toThrow()
  await server.restart()
  await expect(watched.query('SELECT 1')).resolves.toMatchObject({ rows: [{}] })
  await expect(countNotes('1, 2')).resolves.toBe(2)
})

test('a server that hangs is given up on', async () => {
  await using impatient = await openDatabase(server.url, {
    poolSize: 1,
    statementTimeoutMs: 200,
    connectTimeoutMs: 300,
  })
  const { rows } = await impatient.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  process.kill(rows[0]!.pid, 'SIGSTOP')
  try {
    await expect(impatient.query('SELECT 1')).rejects.toThrow('timeout')
  } finally {
    process.kill(rows[0]!.pid, 'SIGCONT')
  }
  await expect(impatient.query('SELECT 1')).resolves.toMatchObject({ rows: [{}] })
})

test('a pool closes although its server hangs, and the query in hand fails', async () => {
  const left = await openDatabase(server.url, { poolSize: 2 })
  const idle = left.query('SELECT 1')
  const { rows } = await left.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  await idle
  process.kill(rows[0]!.pid, 'SIGSTOP')
  try {
    const inHand = [left.query('SELECT 1'), left.query('SELECT 1')]
    const settled = Promise.allSettled(inHand)
    await left.destroy()
    expect((await settled).map(({ status }) => status)).toContain('rejected')
  } finally {
    process.kill(rows[0]!.pid, 'SIGCONT')
  }
})

test('a transaction on a server that hangs reports the time-out, once, and its connection is replaced', async () => {
  await using impatient = await openDatabase(server.url, { poolSize: 1, statementTimeoutMs: 200 })
  const pidOf = () => sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`
  let pid = 0
  const work = impatient.transaction().execute(async (transaction) => {
    pid = (await pidOf().execute(transaction)).rows[0]!.pid
    process.kill(pid, 'SIGSTOP')
    await sql`SELECT 1`.execute(transaction)
  })
  try {
    await expect(work).rejects.toThrow('Query read timeout')
    expect((await pidOf().execute(impatient)).rows[0]!.pid).not.toBe(pid)
  } finally {
    process.kill(pid, 'SIGCONT')
  }
})

test('an address where nothing listens is a clear error without the password', async () => {
  const nowhere = openDatabase('postgres://someone:secret@127.0.0.1:1/things')
  await expect(nowhere).rejects.toThrow('cannot use the database at 127.0.0.1:1/things: connect ECONNREFUSED')
  await expect(nowhere).rejects.not.toThrow('secret')
})

async function countNotes(ids: string): Promise<number> {
  const { rows } = await database.query<{ n: number }>(`SELECT count(*) AS n FROM notes WHERE id IN (${ids})`)
  return rows[0]!.n
}

test('a process that is too busy to hear the server connects when it is free again', async () => {
  const opening = openDatabase(server.url, { poolSize: 1, connectTimeoutMs: 300 })
  const busyUntilMs = performance.now() + 500
  while (performance.now() < busyUntilMs);
  await using late = await opening
  await expect(late.query('SELECT 1 AS n')).resolves.toMatchObject({ rows: [{ n: 1 }] })
})
