/**
 * Typed queries on a pool of PostgreSQL connections, with time limits on everything that can hang.
 *
 * A connection that breaks is dropped and replaced: its user gets an error, and the process goes on. When a server stops
 * replying, this side gives up a little after the server's own limit. `bigint` comes back as a number, or as an error when the
 * number would not be exact. (`numeric`, which is also the type of `sum` of a bigint, stays text: cast it.)
 */

import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import {
  CompiledQuery,
  Kysely,
  PostgresAdapter,
  PostgresDialect,
  sql,
  type PostgresPool,
  type QueryResult,
} from 'kysely'
import pg from 'pg'

export interface DatabaseOptions {
  poolSize?: number
  /** To get a connection: a free one of the pool, or a new one. */
  connectTimeoutMs?: number
  /** 0: no limit. */
  statementTimeoutMs?: number
  /** Shown by `pg_stat_activity`. */
  applicationName?: string
  /** Receives the errors of connections that broke while idle. */
  onConnectionLost?(error: Error): void
}

/** Scripts and tests query every table. */
// oxlint-disable-next-line typescript/no-explicit-any
type AnyTables = any

export interface Database<Tables = AnyTables> extends Kysely<Tables> {
  /** A statement as text, for scripts and tests: services query through the types of their tables. */
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<QueryResult<Row>>
}

const CLIENT_GRACE_MS = 2_000
/** For the server to take leave of its connections. */
const LEAVE_WITHIN_MS = 2_000
/** SQLSTATE read_only_sql_transaction. */
const READ_ONLY = '25006'
const INT8 = 20
const INT8_ARRAY = 1016

/**
 * The migrator's own lock belongs to the session, which a pooler in transaction mode lends to others after each
 * transaction. `migrate.ts` locks its transaction instead.
 */
class Adapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}

class Dialect extends PostgresDialect {
  override createAdapter(): Adapter {
    return new Adapter()
  }
}

/** Opens a pool and proves with one connection that the server is there and lets us in. */
export async function openDatabase<Tables = AnyTables>(
  url: string,
  options: DatabaseOptions = {},
): Promise<Database<Tables>> {
  const statementTimeoutMs = options.statementTimeoutMs ?? 30_000
  const pool = new pg.Pool({
    connectionString: url,
    max: options.poolSize ?? 10,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
    // The server ends a statement at its limit; this ends the wait for a server that does not even do that.
    query_timeout: statementTimeoutMs && statementTimeoutMs + CLIENT_GRACE_MS,
    keepAlive: true,
    idleTimeoutMillis: 60_000,
    application_name: options.applicationName,
    types: { getTypeParser: typeParser as typeof pg.types.getTypeParser },
  })
  const sockets = new Set<Socket>()
  pool.on('connect', (client) => {
    // Without a listener, a connection that breaks, in the pool or in use, would end the process.
    client.on('error', () => {})
    const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
    sockets.add(stream)
    stream.once('close', () => sockets.delete(stream))
  })
  pool.on('error', (error) => options.onConnectionLost?.(error))

  const kysely = new Kysely<Tables>({ dialect: new Dialect({ pool: discardBroken(pool, sockets) }) })
  const database = Object.assign(kysely, {
    query: <Row>(text: string, values: readonly unknown[] = []) =>
      kysely.executeQuery<Row>(CompiledQuery.raw(text, [...values])),
  })
  try {
    await isThere(database)
  } catch (error) {
    await database.destroy()
    throw new Error(`cannot use the database at ${withoutPassword(url)}: ${messageOf(error)}`, { cause: error })
  }
  return database
}

/** For a service's readiness: throws when the database does not reply. */
export async function isThere<Tables>(database: Kysely<Tables>): Promise<true> {
  await sql`select`.execute(database)
  return true
}

/**
 * After a time-out or a lost connection, a client rejects every later query with that error, the rollback above all. Then it
 * leaves the pool: a server's late reply must not reach another query.
 */
function discardBroken(pool: pg.Pool, sockets: Set<Socket>): PostgresPool {
  async function connect() {
    const client = await pool.connect()
    let fault: unknown
    return {
      async query(text: string, values: unknown[]) {
        if (fault) throw fault
        try {
          return await client.query(text, values)
        } catch (error) {
          if (!isOfTheStatement(error)) fault = error
          throw error
        }
      },
      release: () => client.release(fault !== undefined),
    }
  }
  const end = () => endPool(pool, sockets)
  return { connect: connect as unknown as PostgresPool['connect'], end, options: pool.options }
}

/** Not of the connection. A server that only reads was the primary before a failover; the next connection finds the new one. */
function isOfTheStatement(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.severity === 'ERROR' && error.code !== READ_ONLY
}

/** A server that is silent takes no leave, and its connections would keep the process alive: they are cut. */
async function endPool(pool: pg.Pool, sockets: Set<Socket>): Promise<void> {
  const closed = Array.from(sockets, (socket) => new Promise((resolve) => socket.once('close', resolve)))
  const left = Promise.all([pool.end(), ...closed])
  const giveUp = new AbortController()
  await Promise.race([left, delay(LEAVE_WITHIN_MS, undefined, { signal: giveUp.signal }).catch(() => {})])
  giveUp.abort()
  for (const socket of sockets) socket.destroy()
}

function typeParser(oid: number, format?: 'text' | 'binary'): unknown {
  if (oid === INT8) return readBigint
  if (oid === INT8_ARRAY) return readBigintArray
  return pg.types.getTypeParser(oid, format)
}

// The driver's own parser of this type returns texts.
const readIntegers = pg.types.getTypeParser(INT8_ARRAY as 20, 'text') as unknown as (text: string) => (string | null)[]

/** Exact, or an error. Never silently rounded. */
function readBigint(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`the bigint ${text} does not fit a JavaScript number exactly`)
  return value
}

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
