import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { openDatabase } from '@gateway/postgres/database'
import { startTimeOf } from '@gateway/embedded-postgres/processes'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { Redis } from 'ioredis'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createTestDatabase, startNats, startPostgres, startRedis, type Server } from './start.ts'

const start = { startNats, startRedis, startPostgres }
const kinds = Object.keys(start) as (keyof typeof start)[]

afterEach(() => vi.unstubAllEnvs())

describe.each(kinds)('%s', (kind) => {
  test('a killed server is down until it is restarted, on the same address', async () => {
    await using server: Server = await start[kind]({ own: true })
    const { url, pid } = server
    await greet(server)
    await server.kill('SIGKILL')
    expect(server.pid).toBeUndefined()
    expect(await startTimeOf(pid!)).toBeNull()
    await expect(greet(server)).rejects.toThrow()
    await server.restart()
    expect(server.url).toBe(url)
    await greet(server)
  })

  test('a server whose port belongs to another one is refused, though the other one replies there', async () => {
    await using other: Server = await start[kind]({ own: true })
    const port = Number(new URL(other.url).port)
    await expect(start[kind]({ own: true, port })).rejects.toThrow(/already in use|could not bind/i)
    await greet(other)
  })

  test('a temporary server takes its process and its folder with it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'servers-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    vi.stubEnv('TMPDIR', folder)
    const server: Server = await start[kind]({ own: true })
    const { pid } = server
    expect(await readdir(folder)).toHaveLength(1)
    await server[Symbol.asyncDispose]()
    expect(await startTimeOf(pid!)).toBeNull()
    expect(await readdir(folder)).toEqual([])
  })

  test('a server named by the environment is used and left alone', async () => {
    vi.stubEnv(
      { startNats: 'NATS_URL', startRedis: 'REDIS_URL', startPostgres: 'DATABASE_URL' }[kind],
      'x://elsewhere:1/a',
    )
    await using server: Server = await start[kind]()
    expect(server).toMatchObject({ url: 'x://elsewhere:1/a', pid: undefined })
    await expect(server.kill()).rejects.toThrow('not ours')
  })
})

test('Redis and PostgreSQL keep all that they acknowledged through kill -9', async () => {
  await using redis = await startRedis({ own: true })
  await using postgres = await startPostgres({ own: true })
  await withRedis(redis.url, (client) => client.set('key', 'value'))
  await withDatabase(postgres.url, 'CREATE TABLE kept AS SELECT 1 AS n')
  await Promise.all([redis.kill(), postgres.kill()])
  await Promise.all([redis.restart(), postgres.restart()])
  expect(await withRedis(redis.url, (client) => client.get('key'))).toBe('value')
  expect(await withDatabase(postgres.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }])
})

test('data in a given folder stays for the next server', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'servers-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  {
    await using redis = await startRedis({ own: true, directory })
    await withRedis(redis.url, (client) => client.set('key', 'value'))
  }
  await using redis = await startRedis({ own: true, directory })
  expect(await withRedis(redis.url, (client) => client.get('key'))).toBe('value')
})

test('databases for tests are empty, apart, and gone afterwards', async () => {
  const one = await createTestDatabase()
  await using other = await createTestDatabase()
  await withDatabase(one.url, 'CREATE TABLE things ()')
  await withDatabase(other.url, 'CREATE TABLE things ()')
  await one[Symbol.asyncDispose]()
  await expect(withDatabase(one.url, 'SELECT 1')).rejects.toThrow('does not exist')
})

test('servers and their folders are gone after kill -9 of the process that started them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'servers-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const program = `
    import { startNats, startPostgres, startRedis } from ${JSON.stringify(join(import.meta.dirname, 'start.ts'))}
    const own = { own: true }
    const servers = await Promise.all([startNats(own), startRedis(own), startPostgres(own)])
    console.log(servers.map((server) => server.pid).join(' '))`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: folder },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const pids = line.split(' ').map(Number)
  expect(await Promise.all(pids.map(startTimeOf))).not.toContain(null)
  expect(await readdir(folder)).toHaveLength(3)
  child.kill('SIGKILL')
  await expect.poll(() => Promise.all(pids.map(startTimeOf))).toEqual([null, null, null])
  await expect.poll(() => readdir(folder)).toEqual([])
})

test('a missing program that may not be installed is an error that names the next step', async () => {
  vi.stubEnv('GATEWAY_NO_INSTALL', '1')
  const { install } = await import('./install.ts')
  const missing = { name: 'The X server', package: 'x-server', variable: 'X_URL', find: () => undefined }
  await expect(install(missing)).rejects.toThrow(
    'The X server is missing and GATEWAY_NO_INSTALL forbids to install it. ' +
      'Install it (Debian: apt-get install x-server) or name one in X_URL.',
  )
})

/** Proves that the server serves its protocol. */
async function greet(server: Server): Promise<void> {
  if (server.url.startsWith('nats:')) {
    await withNats(server.url, (connection) => connection.flush())
  } else if (server.url.startsWith('redis:')) {
    await withRedis(server.url, (client) => client.ping())
  } else {
    await withDatabase(server.url, 'SELECT 1')
  }
}

async function withNats<Result>(url: string, use: (connection: NatsConnection) => Promise<Result>): Promise<Result> {
  const connection = await connect({ servers: url, reconnect: false, timeout: 2_000 })
  try {
    return await use(connection)
  } finally {
    await connection.close()
  }
}

async function withRedis<Result>(url: string, use: (client: Redis) => Promise<Result>): Promise<Result> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: null })
  client.on('error', () => {})
  try {
    await client.connect()
    return await use(client)
  } finally {
    client.disconnect()
  }
}

async function withDatabase(url: string, sql: string): Promise<object[]> {
  await using database = await openDatabase(url, { poolSize: 1 })
  return (await database.query(sql)).rows
}
