import { createHash, randomUUID } from 'node:crypto'
import { setImmediate, setTimeout as delay } from 'node:timers/promises'
import { startRedisCluster, type RedisCluster } from '@gateway/servers/redis-cluster'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { connectTo } from './connect.ts'
import type { ScriptConnection } from './connection.ts'
import { keySlot } from './cluster-map.ts'

const TIMEOUT_MS = 250
/** The timeout of a connection that still waits while the others have given up, however slow the machine. */
const LONG_TIMEOUT_MS = 100 * TIMEOUT_MS

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
  // Each node comes back to its own slots, however long a test took.
  await cluster.letReplicasTakeOver(false)
})
const connect = ({ url = cluster.url, timeoutMs = TIMEOUT_MS } = {}) =>
  connectTo({
    ...{ url, timeoutMs, store: 'notes' },
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

const count = (key: string, expectedEpoch?: string) =>
  connection.run(COUNT, [key], [], expectedEpoch) as Promise<[epoch: string, count: number]>

/** Once the failure has been noticed by all, a call succeeds. */
const countsAgain = (key: string) => expect.poll(() => count(key)).toBeDefined()

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  )
}

/** Returns true while the call has no outcome. */
async function isWaiting(call: Promise<unknown>): Promise<boolean> {
  const isOver = call.then(
    () => false,
    () => false,
  )
  return Promise.race([isOver, setImmediate(true)])
}

test('each call goes to the node of its key, in the incarnation of that node', async () => {
  const keys = [0, 1, 2].map(keyOn)
  const epochs = await Promise.all(keys.map((key) => connection.epoch(key)))
  expect(new Set(epochs)).toHaveLength(3)
  expect(await Promise.all(keys.map((key) => count(key)))).toEqual(epochs.map((epoch) => [epoch, 1]))
  expect(await connection.timeMs()).toBeGreaterThan(0)
})

test('one address of a cluster leads to all of its nodes', async () => {
  await using byEndpoint = await connect({ url: cluster.nodes[1]!.url.replace('redis:', 'redis-cluster:') })
  for (const node of [0, 1, 2]) {
    const key = keyOn(node)
    expect(await byEndpoint.run(COUNT, [key], [])).toEqual([await connection.epoch(key), 1])
  }
})

test('a node that dies takes only its own keys along, in time, and comes back as another incarnation', async () => {
  const keys = [0, 1, 2].map(keyOn)
  const before = await connection.epoch(keys[1])
  await cluster.nodes[1]!.kill()

  // Nobody starts it again before the calls are over.
  const outcomes = await Promise.allSettled(keys.map((key) => count(key)))
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(outcomes[1]).toMatchObject({ reason: expect.any(NotesUnavailableError) as unknown })
  expect(await connection.timeMs()).toBeGreaterThan(0)

  await cluster.nodes[1]!.restart()
  await expect.poll(() => connection.epoch(keys[1])).not.toBe(before)
  await countsAgain(keys[1]!)
})

test('calls follow a slot that moves, unless they belong to the incarnation before', async () => {
  const [key, other] = [keyOn(2), keyOn(0)]
  const before = await connection.epoch(key)
  await count(key)
  await cluster.moveSlot(keySlot(key), { from: 2, to: 0 })

  await expect(count(key, before)).rejects.toBeInstanceOf(NotesUnavailableError)
  const there = await connection.epoch(other)
  expect(await count(key)).toEqual([there, 2])
  // The failure alone has the map read again, however soon it came after others.
  await expect.poll(() => connection.epoch(key)).toBe(there)
})

describe('while a slot is on its way to another node', () => {
  test('a key that has gone ahead is called there, also where that node has forgotten the scripts', async () => {
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
    // A key that has not gone ahead is still at its former node.
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
    await using unhurried = await connect({ timeoutMs: LONG_TIMEOUT_MS })
    const waiting = unhurried.run(COUNT_BOTH, keys, [])
    await delay(100)
    await move.moveKeys()
    await move.finish()
    expect(await waiting).toEqual([await unhurried.epoch(keyOn(2)), 2, 2])
  })

  test('and does not arrive, calls for it are refused in time, and only it is a part of the store that is in trouble', async () => {
    const tag = keyOn(0)
    const keys = [`{${tag}}a`, `{${tag}}b`]
    await connection.run(COUNT_BOTH, keys, [])
    const part = connection.partOf(tag)
    const move = await cluster.beginMove(keySlot(tag), { from: 0, to: 2 })
    await move.moveKeys(/a$/)
    await using unhurried = await connect({ timeoutMs: LONG_TIMEOUT_MS })
    const waiting = unhurried.run(COUNT_BOTH, keys, [])
    expect(await errorOf(connection.run(COUNT_BOTH, keys, []))).toBeInstanceOf(NotesUnavailableError)
    expect(await isWaiting(waiting)).toBe(true)
    const beside = keyOn(0)
    expect(connection.partOf(beside)).toBe(part)
    expect(connection.partOf(tag)).not.toBe(part)
    expect(await count(beside)).toBeDefined()
    await move.moveKeys()
    await move.finish()
    expect(await waiting).toBeDefined()
    await expect.poll(() => connection.run(COUNT_BOTH, keys, [])).toBeDefined()
    await expect.poll(() => connection.partOf(tag)).toBe(connection.partOf(keyOn(2)))
  })
})

test('while one node is silent, the others reply at once, and slots that they hand to each other are found', async () => {
  const [key, silent] = [keyOn(2), keyOn(1)]
  await count(key)
  await using unhurried = await connect({ timeoutMs: LONG_TIMEOUT_MS })
  await unhurried.run(COUNT, [key], [])
  await cluster.nodes[1]!.kill('SIGSTOP')
  try {
    const waiting = errorOf(unhurried.run(COUNT, [silent], []))
    const lost = errorOf(count(silent))
    await cluster.moveSlot(keySlot(key), { from: 2, to: 0 })
    expect(await unhurried.run(COUNT, [key], [])).toBeDefined()
    expect(await count(key)).toBeDefined()
    expect(await lost).toMatchObject({ cause: { message: expect.stringMatching(/^Redis did not answer within/) } })
    expect(await lost).toBeInstanceOf(NotesUnavailableError)
    expect(await isWaiting(waiting)).toBe(true)
    await expect.poll(() => connection.partOf(key)).toBe(connection.partOf(keyOn(0)))
    expect(new Set([0, 1, 2].map((node) => connection.partOf(keyOn(node)))).size).toBe(3)
  } finally {
    await cluster.nodes[1]!.kill('SIGCONT')
  }
  await countsAgain(silent)
})

test('a primary that became a replica and a primary again is another incarnation, also for a process that sent nothing meanwhile', async () => {
  const key = keyOn(2)
  await using idle = await connect()
  const before = await idle.epoch(key)
  await cluster.handOver(2, 'replica')
  // The epoch is known without a call to Redis, so each process has read the map without a cause.
  for (const each of [idle, connection]) await expect.poll(() => each.epoch(key)).not.toBe(before)
  const between = await connection.epoch(key)
  await cluster.handOver(2, 'primary')
  for (const each of [idle, connection]) await expect.poll(() => each.epoch(key)).not.toBe(between)
  for (const each of [idle, connection]) {
    const [epoch] = await vi.waitFor(() => each.run(COUNT, [key], []) as Promise<[string]>, { timeout: 60_000 })
    expect({ [before]: 'before', [between]: 'between' }[epoch]).toBeUndefined()
  }
  expect(await idle.epoch(key)).toBe(await connection.epoch(key))
})

test('a node that is primary, replica and primary again within seconds begins a new incarnation each time', async () => {
  const key = keyOn(2)
  const epochs = [await connection.epoch(key)]
  for (const side of ['replica', 'primary', 'replica', 'primary'] as const) {
    await cluster.handOver(2, side)
    // The former node names its successor, which is kept for a while even if the map lacks it.
    await expect.poll(() => count(key).then(([epoch]) => epoch)).not.toBe(epochs.at(-1))
    epochs.push(await connection.epoch(key))
  }
  expect(new Set(epochs)).toHaveLength(epochs.length)
})

test('a replica that takes over from a dead primary is found, and is another incarnation', async () => {
  const key = keyOn(1)
  const before = await connection.epoch(key)
  await count(key)
  await cluster.letReplicasTakeOver(true)
  await cluster.nodes[1]!.kill()
  await countsAgain(key)
  expect(await connection.epoch(key)).not.toBe(before)
  await cluster.nodes[1]!.restart()
})
