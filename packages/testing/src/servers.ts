/**
 * Real NATS, Redis and PostgreSQL for tests and for the local cluster, each on a free loopback port.
 *
 * Where a server comes from, in this order: the URL in the environment; a container engine that answers; a program on
 * this machine; on Debian as root, `apt-get install`. None of these: an error that says what to install. Nothing that
 * is started here outlives this process, `kill -9` included.
 */

import { findPostgres, findProgram } from './servers/find-program.ts'
import { startLocalNats, type NatsOptions } from './servers/nats.ts'
import { startLocalPostgres, withDatabases, type PostgresOptions, type PostgresServer } from './servers/postgres.ts'
import { startLocalRedis } from './servers/redis.ts'
import { foreignServer, type Server, type ServerOptions } from './servers/server.ts'

export type { NatsOptions, PostgresOptions, PostgresServer, Server, ServerOptions }

export async function startNats(options: NatsOptions = {}): Promise<Server> {
  const url = named('NATS_URL', options)
  if (url) return foreignServer(url, 'NATS_URL')
  const file = findProgram('nats-server')
  if (!file) throw new Error('no nats-server')
  return startLocalNats(file, options)
}

export async function startRedis(options: ServerOptions = {}): Promise<Server> {
  const url = named('REDIS_URL', options)
  if (url) return foreignServer(url, 'REDIS_URL')
  const file = findProgram('redis-server')
  if (!file) throw new Error('no redis-server')
  return startLocalRedis(file, options)
}

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const url = named('DATABASE_URL', options)
  if (url) return withDatabases(foreignServer(url, 'DATABASE_URL'))
  const folder = findPostgres()
  if (!folder) throw new Error('no PostgreSQL')
  return startLocalPostgres(folder, options)
}

function named(variable: string, options: ServerOptions): string | undefined {
  return options.own ? undefined : process.env[variable] || undefined
}
