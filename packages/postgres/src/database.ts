/**
 * A pool of PostgreSQL connections: queries, transactions, and time limits on everything that can hang.
 *
 * A connection that breaks, idle or in use, is dropped and replaced; whoever was using it gets a rejection, nothing
 * crashes. A server that stops answering is given up on from this side, a little after the server's own limit.
 * `bigint` comes back as a number, or as an error when it would not be exact. (`numeric`, which is also what `sum` of a
 * bigint is, stays text: cast it.)
 */

import pg from 'pg'
import { readBigint } from './read-bigint.ts'

export interface DatabaseOptions {
  poolSize?: number
  /** To get a connection: a free one of the pool, or a new one. */
  connectTimeoutMs?: number
  statementTimeoutMs?: number
  /** Shown by `pg_stat_activity`. */
  applicationName?: string
  /** Told of connections that broke while nobody was using them. */
  onConnectionLost?(error: Error): void
}

export interface QueryResult<Row> {
  rows: Row[]
  /** Rows returned or changed. */
  rowCount: number
}

export interface Queryable {
  query<Row extends object = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>>
}

export interface TransactionOptions {
  isolation?: 'read committed' | 'repeatable read' | 'serializable'
  /** Instead of the database's limit per statement; 0: none. */
  statementTimeoutMs?: number
}

export interface Database extends Queryable, AsyncDisposable {
  /** Commits what `work` did, or rolls it back when that throws. */
  transaction<Result>(work: (transaction: Queryable) => Promise<Result>, options?: TransactionOptions): Promise<Result>
}

const CLIENT_GRACE_MS = 2_000
const INT8 = 20
const INT8_ARRAY = 1016

/** Opens a pool and proves with one connection that the server is there and lets us in. */
export async function openDatabase(url: string, options: DatabaseOptions = {}): Promise<Database> {
  const statementTimeoutMs = options.statementTimeoutMs ?? 30_000
  const pool = new pg.Pool({
    connectionString: url,
    max: options.poolSize ?? 10,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
    keepAlive: true,
    idleTimeoutMillis: 60_000,
    application_name: options.applicationName,
    types: { getTypeParser: typeParser as typeof pg.types.getTypeParser },
  })
  // Without a listener, a connection that breaks, in the pool or in somebody's hands, would end the process.
  pool.on('connect', (client) => void client.on('error', () => {}))
  pool.on('error', (error) => options.onConnectionLost?.(error))

  const database = databaseOn(pool, statementTimeoutMs)
  try {
    await database.query('SELECT 1')
  } catch (error) {
    await pool.end()
    throw new Error(`cannot use the database at ${withoutPassword(url)}: ${messageOf(error)}`, { cause: error })
  }
  return database
}

function databaseOn(pool: pg.Pool, statementTimeoutMs: number): Database {
  let ended: Promise<void> | undefined
  return {
    query: <Row extends object>(text: string, values?: readonly unknown[]) =>
      withClient(pool, (client) => run<Row>(client, text, values, statementTimeoutMs)),
    transaction: (work, options = {}) =>
      withClient(pool, (client) => inTransaction(client, work, options, statementTimeoutMs)),
    [Symbol.asyncDispose]: () => (ended ??= pool.end()),
  }
}

/** Connections on which something went wrong other than a statement: they do not go back to the pool. */
const broken = new WeakSet<pg.PoolClient>()

async function withClient<Result>(pool: pg.Pool, use: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
  const client = await pool.connect()
  try {
    return await use(client)
  } finally {
    client.release(broken.has(client))
  }
}

async function run<Row extends object>(
  client: pg.PoolClient,
  text: string,
  values: readonly unknown[] | undefined,
  timeoutMs: number,
): Promise<QueryResult<Row> & { command: string }> {
  // The server ends a statement at its limit; this ends the wait for a server that does not even do that.
  const limit = timeoutMs > 0 ? { query_timeout: timeoutMs + CLIENT_GRACE_MS } : {}
  try {
    const result = await client.query<Row>({ text, ...(values && { values: [...values] }), ...limit })
    return { rows: result.rows, rowCount: result.rowCount ?? 0, command: result.command }
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && error.severity === 'ERROR')) broken.add(client)
    throw error
  }
}

async function inTransaction<Result>(
  client: pg.PoolClient,
  work: (transaction: Queryable) => Promise<Result>,
  options: TransactionOptions,
  defaultTimeoutMs: number,
): Promise<Result> {
  const timeoutMs = options.statementTimeoutMs ?? defaultTimeoutMs
  let open = true
  const query: Queryable['query'] = (text, values) => {
    // A query that nobody awaited would run on a connection that by now is somebody else's.
    if (!open) return Promise.reject(new Error('the transaction is over'))
    return run(client, text, values, timeoutMs)
  }
  await query(`BEGIN ISOLATION LEVEL ${options.isolation ?? 'read committed'}`)
  try {
    if (options.statementTimeoutMs !== undefined) await query(`SET LOCAL statement_timeout = ${timeoutMs}`)
    const result = await work({ query })
    open = false
    const { command } = await run(client, 'COMMIT', undefined, timeoutMs)
    // PostgreSQL answers so when a statement failed and `work` swallowed its error.
    if (command === 'ROLLBACK') throw new Error('the transaction was rolled back: one of its statements had failed')
    return result
  } catch (error) {
    open = false
    // When even this fails, the connection is broken and the server rolls back by itself.
    if (!broken.has(client)) await run(client, 'ROLLBACK', undefined, timeoutMs).catch(() => {})
    throw error
  }
}

function typeParser(oid: number, format?: 'text' | 'binary'): unknown {
  if (oid === INT8) return readBigint
  if (oid === INT8_ARRAY) return readBigintArray
  return pg.types.getTypeParser(oid, format)
}

// The driver's own parser of this type answers texts.
const readIntegers = pg.types.getTypeParser(INT8_ARRAY as 20, 'text') as unknown as (text: string) => (string | null)[]

function readBigintArray(text: string): (number | null)[] {
  return readIntegers(text).map((item) => (item === null ? null : readBigint(item)))
}

function withoutPassword(url: string): string {
  try {
    const parsed = new URL(url)
    return `${parsed.host}${parsed.pathname}`
  } catch {
    return '(an unreadable address)'
  }
}

function messageOf(error: unknown): string {
  // Several addresses tried: the reasons are inside.
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
