import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { startRedisSentinels } from '@gateway/servers/redis-sentinel'
import type { Server } from '@gateway/servers/start'
import { connect, type ScriptConnection } from './connection.ts'

const PATIENCE = { timeout: 30_000, interval: 50 }

/** A Sentinel is asked for four times as long: the others name another primary meanwhile. */
const TIMEOUT_MS = 1_500

test(
  'a failover that comes while a silent Sentinel is asked leaves the connection serving',
  { timeout: 60_000 },
  async () => {
    await using redis = await startRedisSentinels()
    await using connection = await openOn(redis.url)
    const before = await connection.epoch()

    await redis.sentinels[0]!.kill('SIGSTOP')
    await redis.primary.kill()

    await expect.poll(() => servesAnotherThan(connection, before), PATIENCE).toBe(true)
  },
)

test('a former primary that the Sentinels cannot reach is left, though it serves on', { timeout: 60_000 }, async () => {
  await using redis = await startRedisSentinels()
  await using connection = await openOn(redis.url)
  const before = await connection.epoch()

  await refuseSentinels(redis.primary)

  await expect.poll(() => servesAnotherThan(connection, before), PATIENCE).toBe(true)
  expect(await roleOf(redis.primary)).toBe('master')
})

test('Sentinels that ask for a password of their own are heard', { timeout: 60_000 }, async () => {
  await using redis = await startRedisSentinels({ password: 'p@ss' })
  await using connection = await openOn(redis.url.replace('#', '?sentinel-password=p%40ss#'))
  const before = await connection.epoch()

  await refuseSentinels(redis.primary)

  await expect.poll(() => servesAnotherThan(connection, before), PATIENCE).toBe(true)
})

function openOn(url: string): Promise<ScriptConnection> {
  return connect({ url, timeoutMs: TIMEOUT_MS, store: 'notes', Unavailable: Error, scripts: [] })
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
  await operator.redis.acl('SETUSER', 'default', '-ping', '-multi')
}

async function roleOf({ url }: Server): Promise<unknown> {
  using operator = operatorOf(url)
  return (await operator.redis.role())[0]
}

function operatorOf(url: string) {
  const redis = new Redis(url)
  return { redis, [Symbol.dispose]: () => redis.disconnect() }
}
