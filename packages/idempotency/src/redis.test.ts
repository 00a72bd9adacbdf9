import { startRedis, type Server } from '@gateway/servers/start'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Claim, IdempotencyUnavailableError } from './port.ts'
import { openRedisIdempotency } from './redis.ts'

let server: Server
let operator: Redis
beforeAll(async () => {
  server = await startRedis({ own: true })
  operator = new Redis(server.url)
})
afterAll(async () => {
  operator.disconnect()
  await server[Symbol.asyncDispose]()
})
beforeEach(() => operator.flushall())

const CLAIM: Claim = { account: 'acc', name: 'key', requestId: 'a', owner: 'edge', fingerprint: 'body' }
const KEEPING = { forMs: 5_000, accountBytes: 1_000_000 }

test('everything expires by itself: an abandoned claim after its lease and a quarter of an hour, a response in its time', async () => {
  await using store = await openRedisIdempotency({ url: server.url })
  await store.claim(CLAIM, { leaseMs: 5_000 })
  const left = await operator.pttl('idem:{acc}:key:key')
  expect(left).toBeGreaterThan(900_000)
  expect(left).toBeLessThanOrEqual(905_000)
  await store.keep(CLAIM, Buffer.from('answer'), KEEPING)
  expect(await operator.keys('*')).toHaveLength(3)
  await expect.poll(() => operator.keys('*')).toEqual([])
  expect(await store.claim({ ...CLAIM, requestId: 'b' }, { leaseMs: 5_000 })).toEqual({ kind: 'claimed' })
})

test('a claim lapses by the clock of Redis', async () => {
  await using store = await openRedisIdempotency({ url: server.url })
  await store.claim(CLAIM, { leaseMs: 5_000 })
  const other = () => store.claim({ ...CLAIM, requestId: 'b' }, { leaseMs: 5_000, after: 'a' })
  expect(await other()).toMatchObject({ kind: 'running', lapsed: false })
  await expect.poll(other).toEqual({ kind: 'claimed' })
})

test('a response of a megabyte is kept and comes back complete', async () => {
  await using store = await openRedisIdempotency({ url: server.url, timeoutMs: 2_000 })
  const response = Buffer.alloc(1024 * 1024, 'né')
  await store.keep(CLAIM, response, { forMs: 60_000, accountBytes: 64e6 })
  const found = await store.claim({ ...CLAIM, requestId: 'b' }, { leaseMs: 200 })
  expect(found.kind === 'kept' && Buffer.from(found.response).equals(response)).toBe(true)
})

test('a response that Redis dropped for want of memory takes no bytes of its account', async () => {
  await using store = await openRedisIdempotency({ url: server.url })
  const keeping = { forMs: 60_000, accountBytes: 100 }
  for (let times = 0; times < 5; times++) {
    await operator.del('idem:{acc}:key:key')
    await store.keep(CLAIM, Buffer.alloc(40, 'x'), keeping)
  }
  expect(await store.claim({ ...CLAIM, requestId: 'b' }, { leaseMs: 200 })).toMatchObject({ kind: 'kept' })
})

test('an account whose sums Redis dropped for want of memory keeps responses as before', async () => {
  await using store = await openRedisIdempotency({ url: server.url })
  const keep = (name: string) => store.keep({ ...CLAIM, name }, Buffer.alloc(40), { forMs: 60_000, accountBytes: 100 })
  for (const dropped of ['kept', 'bytes']) {
    await keep('a')
    await keep('b')
    await operator.del(`idem:{acc}:${dropped}`)
    await keep('c')
    expect(await operator.get('idem:{acc}:bytes')).toBe('40')
    expect(await store.claim({ ...CLAIM, name: 'c', requestId: 'b' }, { leaseMs: 200 })).toMatchObject({ kind: 'kept' })
    await operator.flushall()
  }
})

describe('many responses whose time is over at once', () => {
  const MANY = 1_000
  const clock = { nowMs: Date.now() }

  async function keepMany(keep: (name: string) => Promise<boolean>): Promise<void> {
    await Promise.all(Array.from({ length: MANY }, (_, index) => keep(`old${index}`)))
    clock.nowMs += 61_000
  }

  test('go a few at a time, so that no call holds up Redis for others', async () => {
    await using store = await openRedisIdempotency({ url: server.url, now: () => clock.nowMs, timeoutMs: 5_000 })
    const keep = (name: string) =>
      store.keep({ ...CLAIM, name }, Buffer.alloc(40), { forMs: 60_000, accountBytes: 1_000_000 })
    await keepMany(keep)
    await keep('new')
    expect(await operator.zcard('idem:{acc}:kept')).toBeGreaterThan(MANY - 200)
    for (let times = 1; times < 20; times++) await keep(`new${times}`)
    expect(await operator.zcard('idem:{acc}:kept')).toBe(20)
    expect(await operator.get('idem:{acc}:bytes')).toBe(String(20 * 40))
  })

  test('free their bytes first, and leave new entries under their keys', async () => {
    await using store = await openRedisIdempotency({ url: server.url, now: () => clock.nowMs, timeoutMs: 5_000 })
    const keeping = { forMs: 60_000, accountBytes: 40 * MANY }
    const keep = (name: string, bytes = 40) => store.keep({ ...CLAIM, name }, Buffer.alloc(bytes), keeping)
    await keepMany(keep)
    const lastOld = (await operator.zrange('idem:{acc}:kept', '-1', '-1'))[0]!.split(':').at(-1)!
    // As Redis lets it go by its own clock.
    await operator.del(`idem:{acc}:key:${lastOld}`)
    await keep(lastOld, 60)
    await keep('large', 40 * MANY - 60)
    const found = await store.claim({ ...CLAIM, name: lastOld, requestId: 'b' }, { leaseMs: 200 })
    expect(found).toMatchObject({ kind: 'kept' })
    expect(await operator.zcard('idem:{acc}:kept')).toBe(2)
  })
})

test('while Redis is away, calls fail at once or in a quarter of a second, never later', async () => {
  await using own = await startRedis({ own: true })
  await using store = await openRedisIdempotency({ url: own.url })
  await using longTimeout = await openRedisIdempotency({ url: own.url, timeoutMs: 2_500 })
  await own.kill('SIGSTOP')
  // A store that waits ten times as long still waits then, however slow the machine.
  let isLongTimeoutOver = false
  const waiting = longTimeout.claim(CLAIM, { leaseMs: 5_000 }).finally(() => (isLongTimeoutOver = true))
  const claimed = store.claim(CLAIM, { leaseMs: 5_000 })
  await expect(claimed).rejects.toBeInstanceOf(IdempotencyUnavailableError)
  await expect(claimed).rejects.toMatchObject({ cause: { message: expect.stringMatching(/^Redis did not answer/) } })
  expect(isLongTimeoutOver).toBe(false)
  await expect(waiting).rejects.toBeInstanceOf(IdempotencyUnavailableError)
  await own.kill('SIGCONT')
  await own.kill()
  await expect
    .poll(() => store.release(CLAIM).catch((error: unknown) => error))
    .toBeInstanceOf(IdempotencyUnavailableError)
})
