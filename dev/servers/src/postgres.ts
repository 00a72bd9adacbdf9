/**
 * PostgreSQL from local programs (the distribution's or the npm-delivered ones), with fresh databases for tests.
 */

import { randomBytes } from 'node:crypto'
import { FAST, IMMEDIATE, openDataDirectory, startPostmaster } from '@gateway/embedded-postgres/postmaster'
import { openDatabase } from '@gateway/postgres/database'
import { startLocalServer } from './local-server.ts'
import type { Server, ServerOptions } from './server.ts'

export interface PostgresOptions extends ServerOptions {
  /** Waits for the disk at each commit. Off by default: only a crash of the whole machine shows the difference. */
  durable?: boolean
}

export interface PostgresServer extends Server {
  /** An empty database of its own, dropped when disposed. */
  createDatabase(): Promise<TestDatabase>
}

export interface TestDatabase extends AsyncDisposable {
  readonly url: string
}

const USER = 'gateway'

export async function startLocalPostgres(binDirectory: string, options: PostgresOptions): Promise<PostgresServer> {
  let password = ''
  const durable = options.durable ?? false
  const settings = {
    max_connections: '200',
    // Commits still reach the kernel, so they outlive a killed server.
    ...(durable ? {} : { fsync: 'off', full_page_writes: 'off' }),
  }
  const server = await startLocalServer(
    {
      name: 'postgres',
      stopSignal: FAST,
      // Not SIGKILL, which would leave its shared memory behind.
      discardSignal: IMMEDIATE,
      url: (port) => `postgres://${USER}:${password}@127.0.0.1:${port}/postgres`,
      start: async ({ directory, port }) => {
        const data = await openDataDirectory({ directory, binDirectory, user: USER, durable })
        password = data.password
        const { dataDirectory } = data
        const log = options.log ?? (() => {})
        return startPostmaster({ binDirectory, dataDirectory, port, settings, onParentDeath: IMMEDIATE, log })
      },
    },
    options,
  )
  return withDatabases(server)
}

/** Adds {@link PostgresServer.createDatabase} to a server. Not spread: `pid` must stay live. */
export function withDatabases(server: Server): PostgresServer {
  return Object.assign(server, { createDatabase: () => createDatabase(server.url) })
}

/** An empty database on the server at `serverUrl`. */
export async function createDatabase(serverUrl: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`
  await runStatement(serverUrl, `CREATE DATABASE ${name}`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return {
    url: url.href,
    [Symbol.asyncDispose]: () => runStatement(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  }
}

async function runStatement(serverUrl: string, sql: string): Promise<void> {
  await using database = await openDatabase(serverUrl, { poolSize: 1 })
  await database.query(sql)
}
