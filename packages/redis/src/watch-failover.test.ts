import { once } from 'node:events'
import { type AddressInfo, connect as dial, createServer, type Socket } from 'node:net'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { replicationOf, SENTINEL_NAME, startRedisSentinels } from '@gateway/servers/redis-sentinel'
import type { Server } from '@gateway/servers/start'
import { connect, type ScriptConnection } from './connection.ts'

const TIMEOUTS = { timeout: 60_000, interval: 50 }

/** A Sentinel is queried for four times as long: the others name another primary meanwhile. */
const TIMEOUT_MS = 1_500

test('a failover during the query of a silent Sentinel leaves the connection serving', async () => {
  await using redis = await startRedisSentinels()
  await using connection = await openOn(redis.url)
  const before = await connection.epoch()

  await redis.sentinels[0]!.kill('SIGSTOP')
  await redis.primary.kill()

  await expect.poll(() => servesAnotherThan(connection, before), TIMEOUTS).toBe(true)
})

test('a former primary that the Sentinels cannot reach is left, though it serves on', async () => {
  await using redis = await startRedisSentinels()
  await using connection = await openOn(redis.url)
  const before = await connection.epoch()

  await refuseSentinels(redis.primary)

  await expect.poll(() => servesAnotherThan(connection, before), TIMEOUTS).toBe(true)
  expect(await roleOf(redis.primary)).toBe('master')
})

test('a failover that happens while no Sentinel can be reached is followed later', async () => {
  await using redis = await startRedisSentinels()
  await using stack = new AsyncDisposableStack()
  const proxies = await Promise.all(redis.sentinels.map(async (sentinel) => stack.use(await openProxy(sentinel))))
  const addresses = proxies.map(({ port }) => `127.0.0.1:${port}`).join(',')
  await using connection = await openOn(`redis-sentinel://${addresses}#${SENTINEL_NAME}`)
  const before = await connection.epoch()
  await expect.poll(() => areSubscribedTo(redis.sentinels), TIMEOUTS).toBe(true)
  expect(await replicationOf(redis.replica)).toContain('role:slave')

  for (const proxy of proxies) proxy.shut()
  await refuseSentinels(redis.primary)
  await expect.poll(() => areAgreedOn(redis.replica, redis.sentinels), TIMEOUTS).toBe(true)
  expect(await connection.epoch()).toBe(before)
  for (const proxy of proxies) proxy.open()

  await expect.poll(() => servesAnotherThan(connection, before), TIMEOUTS).toBe(true)
  expect(await roleOf(redis.primary)).toBe('master')
})

test('Sentinels with a password of their own are followed', async () => {
  await using redis = await startRedisSentinels({ password: 'p@ss' })
  await using connection = await openOn(redis.url.replace('#', '?sentinel-password=p%40ss#'))
  const before = await connection.epoch()

  await refuseSentinels(redis.primary)

  await expect.poll(() => servesAnotherThan(connection, before), TIMEOUTS).toBe(true)
})

function openOn(url: string): Promise<ScriptConnection> {
  return connect({ url, timeoutMs: TIMEOUT_MS, store: 'notes', Unavailable: Error, scripts: [] })
}

/** Returns true when each Sentinel has a subscriber; Sentinels do not subscribe to each other there. */
async function areSubscribedTo(sentinels: readonly Server[]): Promise<boolean> {
  const lists = await commandAll(sentinels, 'CLIENT', 'LIST')
  return lists.every((list) => list.includes(' sub=1 '))
}

async function areAgreedOn({ url }: Server, sentinels: readonly Server[]): Promise<boolean> {
  const named = await commandAll(sentinels, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', SENTINEL_NAME)
  return named.every((address) => address.endsWith(`,${new URL(url).port}`))
}

function commandAll(servers: readonly Server[], command: string, ...args: string[]): Promise<string[]> {
  return Promise.all(
    servers.map(async ({ url }) => {
      using operator = operatorOf(url)
      return String(await operator.redis.call(command, ...args))
    }),
  )
}

/** A proxy before a Sentinel. Shut, it resets its connections and takes no other. */
async function openProxy({ url }: Server) {
  const sockets = new Set<Socket>()
  let isShut = false
  const server = createServer((near) => {
    if (isShut) return void near.resetAndDestroy()
    const far = dial(Number(new URL(url).port), '127.0.0.1')
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {}).once('close', () => sockets.delete(socket) && other.destroy())
      socket.pipe(other)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    shut() {
      isShut = true
      for (const socket of sockets) socket.resetAndDestroy()
    },
    open: () => void (isShut = false),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function servesAnotherThan(connection: ScriptConnection, before: string): Promise<boolean> {
  return connection.epoch().then(
    (epoch) => epoch !== before,
    () => false,
  )
}

/** They take it for dead and cannot make it a replica; everybody else is served. */
async function refuseSentinels({ url }: Server): Promise<void> {
  using operator = operatorOf(url)
  await operator.redis.acl('SETUSER', 'default', '-ping', '-multi', '-slaveof', '-client')
}

async function roleOf({ url }: Server): Promise<unknown> {
  using operator = operatorOf(url)
  return (await operator.redis.role())[0]
}

function operatorOf(url: string) {
  const redis = new Redis(url)
  return { redis, [Symbol.dispose]: () => redis.disconnect() }
}
