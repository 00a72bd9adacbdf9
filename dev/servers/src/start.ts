/**
 * Real NATS, Redis and PostgreSQL for tests and for the local cluster, each on a free loopback port.
 *
 * A server comes from the URL in the environment, else a program on this machine (for PostgreSQL also the npm-delivered
 * one), else a container engine. On Debian, root installs the program with `apt-get`; elsewhere an error names it.
 * Nothing that is started here outlives this process, `kill -9` included.
 */

import { embeddedBinaries } from '@gateway/embedded-postgres/binaries'
import { hasContainerEngine, startInContainer } from './container.ts'
import { findPostgres, findProgram } from './find-program.ts'
import { install, type Missing } from './install.ts'
import { natsContainer, startLocalNats, type NatsOptions } from './nats.ts'
import {
  createDatabase,
  startLocalPostgres,
  withDatabases,
  type PostgresOptions,
  type PostgresServer,
  type TestDatabase,
} from './postgres.ts'
import { redisContainer, startLocalRedis } from './redis.ts'
import { foreignServer, type Server, type ServerOptions } from './server.ts'

export type { NatsOptions, PostgresOptions, PostgresServer, Server, ServerOptions, TestDatabase }

/** Set by `shared-postgres.ts`, vitest's global setup: the address that hands out the server which all test files share. */
export const SHARED_POSTGRES_VARIABLE = 'GATEWAY_SHARED_POSTGRES'

const NATS: Missing = {
  name: 'The NATS server',
  package: 'nats-server',
  variable: 'NATS_URL',
  find: () => findProgram('nats-server'),
}
const REDIS: Missing = {
  name: 'The Redis server',
  package: 'redis-server',
  variable: 'REDIS_URL',
  find: () => findProgram('redis-server'),
}
const POSTGRES: Missing = {
  name: 'PostgreSQL',
  package: 'postgresql',
  variable: 'DATABASE_URL',
  find: findPostgres,
}

/** For tests of pages; the tests bring their own driver. */
const BROWSER: Missing = {
  name: 'The browser Chromium',
  package: 'chromium',
  variable: 'CHROMIUM_PATH',
  find: () => ['chromium', 'chromium-browser', 'google-chrome'].map(findProgram).find(Boolean),
}

/** The path of a Chromium: the environment's, this machine's, or one installed now. */
export async function findBrowser(): Promise<string> {
  return process.env[BROWSER.variable] || BROWSER.find() || install(BROWSER)
}

export async function startNats(options: NatsOptions = {}): Promise<Server> {
  return (
    named(NATS, options) ??
    (NATS.find() ? undefined : await startInContainer(natsContainer(options), options)) ??
    startLocalNats(NATS.find() ?? (await install(NATS)), options)
  )
}

export async function startRedis(options: ServerOptions = {}): Promise<Server> {
  return (
    named(REDIS, options) ??
    (REDIS.find() ? undefined : await startInContainer(redisContainer, options)) ??
    startLocalRedis(REDIS.find() ?? (await install(REDIS)), options)
  )
}

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const foreign = named(POSTGRES, options)
  if (foreign) return withDatabases(foreign)
  return startLocalPostgres(POSTGRES.find() ?? (await embeddedBinaries()) ?? (await install(POSTGRES)), options)
}

/**
 * Finds or installs everything that the three starts and the browser tests will need, so that no test waits for an
 * installation. Returns the source of each.
 */
export async function prepareServers(): Promise<string[]> {
  const sources: string[] = []
  for (const server of [NATS, REDIS, POSTGRES]) {
    const source =
      (process.env[server.variable] && `from ${server.variable}`) ||
      server.find() ||
      (server === POSTGRES ? await embeddedBinaries() : (await hasContainerEngine()) && 'in a container') ||
      (await install(server))
    sources.push(`${server.name}: ${source}`)
  }
  return [...sources, `${BROWSER.name}: ${await findBrowser()}`]
}

/**
 * An empty database, dropped when disposed: on the server that all test files of a vitest run share, which saves each
 * file a second. For tests that kill the server: `startPostgres({ own: true })`.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const broker = process.env[SHARED_POSTGRES_VARIABLE]
  if (!broker) throw new Error('createTestDatabase is for tests run by vitest with its global setup')
  const response = await fetch(broker)
  if (!response.ok) throw new Error(await response.text())
  return createDatabase(await response.text())
}

function named(server: Missing, options: ServerOptions): Server | undefined {
  const url = options.own ? undefined : process.env[server.variable]
  return url ? foreignServer(url, server.variable) : undefined
}
