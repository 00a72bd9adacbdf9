import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { startRedisCluster, type RedisCluster } from '@gateway/servers/redis-cluster'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { connectTo } from './connect.ts'
import type { ScriptConnection } from './connection.ts'
import { keySlot } from './cluster-map.ts'

/** The bound that callers rely on, plus what a busy machine may add. */
const IN_TIME_MS = 250 + 400
/** Also by who has no cause to. */
const MAP_IS_READ_WITHIN_MS = 6_000

class NotesUnavailableError extends Error {}

const source = `return { ARGV[1], redis.call('INCR', KEYS[1]) }`
const COUNT = { source, sha1: createHash('sha1').update(source).digest('hex') }

const both = `return { ARGV[1], redis.call('INCR', KEYS[1]), redis.call('INCR', KEYS[2]) }`
const COUNT_BOTH = { source: both, sha1: createHash('sha1').update(both).digest('hex') }

let cluster: RedisCluster
let connection: ScriptConnection
beforeAll(async () => {
  cluster = await startRedisCluster(3, { replicas: true })
  connection = await connect()
}, 60_000)
const connect = (url = cluster.url) =>
  connectTo({
    ...{ url, timeoutMs: 250, store: 'notes' },
    ...{ Unavailable: NotesUnavailableError, scripts: [COUNT, COUNT_BOTH] },
  })
afterAll(async () => {
  await connection?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
})

/** Slots are shared equally, in the order of the nodes. */
function keyOn(node: number): string {
  for (;;) {
    const key = randomUUID()
    if (Math.floor(keySlot(key) / Math.ceil(16_384 / 3)) === node) return key
  }
}

const count = (key: string, expectedEpoch?: string) => connection.run(COUNT, [key], [], expectedEpoch)

test('each key is asked for where it lies, in the life of that node', async () => {
  const keys = [0, 1, 2].map(keyOn)
  const epochs = await Promise.all(keys.map((key) => connection.epoch(key)))
  expect(new Set(epochs)).toHaveLength(3)
  expect(await Promise.all(keys.map((key) => count(key)))).toEqual(epochs.map((epoch) => [epoch, 1]))
  expect(await connection.timeMs()).toBeGreaterThan(0)
})

test('one address of a cluster leads to all of its nodes', async () => {
  await using byEndpoint = await connect(cluster.nodes[1]!.url.replace('redis:', 'redis-cluster:'))
  for (const node of [0, 1, 2]) {
    const key = keyOn(node)
    expect(await byEndpoint.run(COUNT, [key], [])).toEqual([await connection.epoch(key), 1])
  }
})

test('a node that dies takes only its own keys along, in time, and comes back as another life', async () => {
  const keys = [0, 1, 2].map(keyOn)
  const before = await connection.epoch(keys[1])
  await cluster.nodes[1]!.kill()

  const beganAtMs = performance.now()
  const outcomes = await Promise.allSettled(keys.map((key) => count(key)))
  expect(performance.now() - beganAtMs).toBeLessThan(IN_TIME_MS)
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(outcomes[1]).toMatchObject({ reason: expect.any(NotesUnavailableError) as unknown })
  expect(await connection.timeMs()).toBeGreaterThan(0)

  await cluster.nodes[1]!.restart()
  await vi.waitFor(async () => expect(await connection.epoch(keys[1])).not.toBe(before), { timeout: 20_000 })
  await vi.waitFor(() => count(keys[1]!), { timeout: 20_000 })
})

test('a slot that moves is followed, except by what belongs to the life before', async () => {
  const [key, other] = [keyOn(2), keyOn(0)]
  const before = await connection.epoch(key)
  await count(key)
  await cluster.moveSlot(keySlot(key), { from: 2, to: 0 })

  await expect(count(key, before)).rejects.toBeInstanceOf(NotesUnavailableError)
  const there = await connection.epoch(other)
  expect(await count(key)).toEqual([there, 2])
  // The failure alone has the map read again, however soon it came after others.
  await vi.waitFor(async () => expect(await connection.epoch(key)).toBe(there), { timeout: 20_000 })
})

async function outcomeOf(call: Promise<unknown>): Promise<{ error: unknown; answer?: unknown; afterMs: number }> {
  const beganAtMs = performance.now()
  const outcome = await call.then(
    (answer) => ({ answer, error: undefined }),
    (error: unknown) => ({ error }),
  )
  return { ...outcome, afterMs: performance.now() - beganAtMs }
}

describe('while a slot is on its way to another node', () => {
  test('what has gone ahead is asked for there, also where that node has forgotten the scripts', async () => {
    const [key, other] = [keyOn(2), keyOn(1)]
    await count(key)
    const move = await cluster.beginMove(keySlot(key), { from: 2, to: 1 })
    await move.moveKeys()
    const operator = new Redis(cluster.nodes[1]!.url)
    await operator.script('FLUSH')
    operator.disconnect()
    const there = await connection.epoch(other)
    expect(await count(key)).toEqual([there, 2])
    expect(await count(key)).toEqual([there, 3])
    // What has not gone ahead is still where it was.
    expect(await count(keyOn(2))).toEqual([expect.not.stringMatching(there), 1])
    await move.finish()
    expect(await count(key)).toEqual([there, 4])
  })

  test('a script whose keys are on both sides waits until they are together', async () => {
    const tag = keyOn(0)
    const keys = [`{${tag}}a`, `{${tag}}b`]
    await connection.run(COUNT_BOTH, keys, [])
    const move = await cluster.beginMove(keySlot(tag), { from: 0, to: 2 })
    await move.moveKeys(/a$/)
    const waiting = connection.run(COUNT_BOTH, keys, [])
    await delay(100)
    await move.moveKeys()
    await move.finish()
    expect(await waiting).toEqual([await connection.epoch(keyOn(2)), 2, 2])
  })

  test('and does not arrive, calls for it are refused in time, and only it is a part of the store that is in trouble', async () => {
    const tag = keyOn(0)
    const keys = [`{${tag}}a`, `{${tag}}b`]
    await connection.run(COUNT_BOTH, keys, [])
    const part = connection.partOf(tag)
    const move = await cluster.beginMove(keySlot(tag), { from: 0, to: 2 })
    await move.moveKeys(/a$/)
    const { error, afterMs } = await outcomeOf(connection.run(COUNT_BOTH, keys, []))
    expect(error).toBeInstanceOf(NotesUnavailableError)
    expect(afterMs).toBeLessThan(IN_TIME_MS)
    const beside = keyOn(0)
    expect(connection.partOf(beside)).toBe(part)
    expect(connection.partOf(tag)).not.toBe(part)
    expect(await outcomeOf(count(beside))).toMatchObject({ error: undefined })
    await move.moveKeys()
    await move.finish()
    await vi.waitFor(() => connection.run(COUNT_BOTH, keys, []), { timeout: 20_000 })
    await vi.waitFor(() => expect(connection.partOf(tag)).toBe(connection.partOf(keyOn(2))), { timeout: 20_000 })
  })
})

test('while one node is silent, the others answer at once, and slots that they hand to each other are found', async () => {
  const [key, silent] = [keyOn(2), keyOn(1)]
  await count(key)
  await cluster.nodes[1]!.kill('SIGSTOP')
  try {
    const lost = outcomeOf(count(silent))
    await cluster.moveSlot(keySlot(key), { from: 2, to: 0 })
    const found = await outcomeOf(count(key))
    expect(found).toMatchObject({ error: undefined })
    expect(found.afterMs).toBeLessThan(200)
    const { error, afterMs } = await lost
    expect(error).toBeInstanceOf(NotesUnavailableError)
    expect(afterMs).toBeLessThan(IN_TIME_MS)
    await vi.waitFor(() => expect(connection.partOf(key)).toBe(connection.partOf(keyOn(0))), { timeout: 5_000 })
    expect(new Set([0, 1, 2].map((node) => connection.partOf(keyOn(node)))).size).toBe(3)
  } finally {
    await cluster.nodes[1]!.kill('SIGCONT')
  }
  await vi.waitFor(() => count(silent), { timeout: 20_000 })
})

test('a primary that became a replica and a primary again is another life, also for who asked nothing meanwhile', async () => {
  const key = keyOn(2)
  await using idle = await connect()
  const before = await idle.epoch(key)
  await cluster.handOver(2, 'replica')
  await vi.waitFor(async () => expect(await connection.epoch(key)).not.toBe(before), { timeout: 20_000 })
  const between = await connection.epoch(key)
  await delay(MAP_IS_READ_WITHIN_MS)
  await cluster.handOver(2, 'primary')
  await delay(MAP_IS_READ_WITHIN_MS)
  for (const each of [idle, connection]) {
    const answer = await vi.waitFor(() => each.run(COUNT, [key], []) as Promise<[string]>, { timeout: 20_000 })
    expect([before, between]).not.toContain(answer[0])
  }
  expect(await idle.epoch(key)).toBe(await connection.epoch(key))
}, 40_000)

test('a replica that takes over from a dead primary is found, and is another life', async () => {
  const key = keyOn(1)
  const before = await connection.epoch(key)
  await count(key)
  await cluster.nodes[1]!.kill()
  await vi.waitFor(() => count(key), { timeout: 20_000 })
  expect(await connection.epoch(key)).not.toBe(before)
  await cluster.nodes[1]!.restart()
}, 40_000)
