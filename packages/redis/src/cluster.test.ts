import { createHash, randomUUID } from 'node:crypto'
import { startRedisCluster, type RedisCluster } from '@gateway/testing/servers/redis-cluster'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { connectTo } from './connect.ts'
import type { ScriptConnection } from './connection.ts'
import { keySlot } from './key-slot.ts'

/** The bound that callers rely on, plus what a busy machine may add. */
const IN_TIME_MS = 250 + 400

class NotesUnavailableError extends Error {}

const source = `return { ARGV[1], redis.call('INCR', KEYS[1]) }`
const COUNT = { source, sha1: createHash('sha1').update(source).digest('hex') }

let cluster: RedisCluster
let connection: ScriptConnection
beforeAll(async () => {
  cluster = await startRedisCluster(3)
  const options = { timeoutMs: 250, store: 'notes', Unavailable: NotesUnavailableError, scripts: [COUNT] }
  connection = await connectTo({ url: cluster.url, ...options })
}, 60_000)
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
