import { NotStoredError, type Bus } from '@gateway/bus/port'
import { usageBatch } from '@gateway/contracts/usage-event'
import { afterEach, expect, test, vi } from 'vitest'
import { usageEvent } from '../../test/planned-job.ts'
import { createUsageReporter } from './settle.ts'

afterEach(() => void vi.useRealTimers())

interface Published {
  bytes: number
  requestIds: string[]
  stored: PromiseWithResolvers<void>
}

function reporterOnBus() {
  const published: Published[] = []
  const bus = {
    durable: {
      publish(_subject: string, payload: Uint8Array) {
        const { events } = usageBatch.parse(JSON.parse(Buffer.from(payload).toString()))
        const stored = Promise.withResolvers<void>()
        published.push({ bytes: payload.length, requestIds: events.map(({ requestId }) => requestId), stored })
        return stored.promise
      },
    },
  } as unknown as Bus
  return { reporter: createUsageReporter(bus, () => {}), published }
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

test('reports of one turn travel together, and those that come before their message is stored travel in the next', async () => {
  // A message that is not stored within two milliseconds holds up the next one no longer.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { reporter, published } = reporterOnBus()
  const events = Array.from({ length: 6 }, () => usageEvent())
  const ids = events.map(({ requestId }) => requestId)
  for (const event of events.slice(0, 3)) void reporter.report(event)
  await nextTurn()
  for (const event of events.slice(3, 5)) {
    void reporter.report(event)
    await nextTurn()
  }
  expect(published.map(({ requestIds }) => requestIds)).toEqual([ids.slice(0, 3)])
  published[0]!.stored.resolve()
  await nextTurn()
  expect(published.map(({ requestIds }) => requestIds)).toEqual([ids.slice(0, 3), ids.slice(3, 5)])
  published[1]!.stored.resolve()
  await nextTurn()
  void reporter.report(events[5]!)
  await nextTurn()
  expect(published[2]!.requestIds).toEqual(ids.slice(5))
})

test('a message that is not stored holds up the next one for two milliseconds', async () => {
  vi.useFakeTimers()
  const { reporter, published } = reporterOnBus()
  const events = [usageEvent(), usageEvent(), usageEvent()]
  void reporter.report(events[0]!)
  await vi.advanceTimersByTimeAsync(1)
  for (const event of events.slice(1)) void reporter.report(event)
  await vi.advanceTimersByTimeAsync(1)
  expect(published).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(published.map(({ requestIds }) => requestIds.length)).toEqual([1, 2])
})

test('however many there are, each is in one message, and no message is too large for the broker', async () => {
  const { reporter, published } = reporterOnBus()
  const events = Array.from({ length: 1_001 }, () => usageEvent())
  for (const event of events) void reporter.report(event)
  await nextTurn()
  expect(published.flatMap(({ requestIds }) => requestIds)).toEqual(events.map(({ requestId }) => requestId))
  expect(Math.max(...published.map(({ requestIds }) => requestIds.length))).toBeLessThanOrEqual(200)
})

test("requests that were tried at many backends fill no message beyond the broker's limit", async () => {
  const { reporter, published } = reporterOnBus()
  const attempt = { backend: 'gpu-a'.repeat(12), model: 'Qwen3'.repeat(24), outcome: 'http_503', durationMs: 12.5 }
  const attempts = Array.from({ length: 60 }, () => attempt)
  for (let times = 0; times < 200; times++) void reporter.report({ ...usageEvent(), attempts })
  await nextTurn()
  expect(published.flatMap(({ requestIds }) => requestIds)).toHaveLength(200)
  expect(Math.max(...published.map(({ bytes }) => bytes))).toBeLessThan(1024 * 1024)
})

test('a report is stored when its message is, not before, and fails with it alone', async () => {
  const { reporter, published } = reporterOnBus()
  const isStored = { inTime: false, stored: false }
  const first = reporter.report(usageEvent())
  const reported = (['inTime', 'stored'] as const).map((when) => first[when].then(() => (isStored[when] = true)))
  await nextTurn()
  const second = reporter.report(usageEvent())
  await expect.poll(() => published).toHaveLength(2)
  published[1]!.stored.reject(new Error('not stored'))
  await expect(second.inTime).rejects.toThrow('not stored')
  expect(isStored).toEqual({ inTime: false, stored: false })
  published[0]!.stored.resolve()
  await Promise.all(reported)
  expect(isStored).toEqual({ inTime: true, stored: true })
})

test('a client waits half a minute, and the report is stored all the same', async () => {
  vi.useFakeTimers()
  const { reporter, published } = reporterOnBus()
  const { inTime, stored } = reporter.report(usageEvent())
  const outcome = inTime.catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(30_000)
  expect(await outcome).toBeInstanceOf(NotStoredError)
  published[0]!.stored.resolve()
  await stored
})

test('a report that nobody waits for ends no process when it is late', async () => {
  vi.useFakeTimers()
  const unhandled: unknown[] = []
  const hear = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', hear)
  try {
    void reporterOnBus().reporter.report(usageEvent())
    await vi.advanceTimersByTimeAsync(30_000)
    vi.useRealTimers()
    await nextTurn()
    expect(unhandled).toEqual([])
  } finally {
    process.off('unhandledRejection', hear)
  }
})
