import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { createResponseDeadlines } from './response-deadlines.ts'

afterEach(() => void vi.useRealTimers())

const never = () => new Promise<never>(() => {})

test('a call resolves with a reply in time, and rejects with an error in time', async () => {
  const deadlines = createResponseDeadlines(1_000)
  const good = deadlines.wait(Promise.resolve('PONG'))
  const bad = deadlines.wait(Promise.reject(new Error('READONLY')))
  deadlines.sent()
  expect(await good).toBe('PONG')
  await expect(bad).rejects.toThrow('READONLY')
})

test('calls that get no reply fail in the order in which they left, each after its own time', async () => {
  vi.useFakeTimers()
  const deadlines = createResponseDeadlines(60)
  const failed: string[] = []
  const note = (name: string) =>
    deadlines.wait(never()).catch((error: Error) => void failed.push(`${name}: ${error.message}`))
  void note('first')
  deadlines.sent()
  await vi.advanceTimersByTimeAsync(30)
  void note('second')
  deadlines.sent()
  await vi.advanceTimersByTimeAsync(29)
  expect(failed).toEqual([])
  await vi.advanceTimersByTimeAsync(30)
  expect(failed).toEqual([expect.stringMatching(/^first: Redis did not answer within \d+ ms$/)])
  await vi.advanceTimersByTimeAsync(30)
  expect(failed).toHaveLength(2)
})

test('the time of a call begins when it leaves', async () => {
  const deadlines = createResponseDeadlines(40)
  const reply = Promise.withResolvers<string>()
  const waiting = deadlines.wait(reply.promise)
  await sleep(60)
  deadlines.sent()
  reply.resolve('late to leave, not late')
  expect(await waiting).toBe('late to leave, not late')
})

test('a call that is sent again after an error has the rest of the time', async () => {
  const deadlines = createResponseDeadlines(60)
  const again = deadlines.wait(Promise.reject<string>(new Error('NOSCRIPT')), () => Promise.resolve('the second'))
  const silent = deadlines.wait(Promise.reject<string>(new Error('NOSCRIPT')), never)
  deadlines.sent()
  expect(await again).toBe('the second')
  await expect(silent).rejects.toThrow('did not answer within')
})

test('a reply that came while the process stood still counts', async () => {
  const deadlines = createResponseDeadlines(20)
  const waiting = deadlines.wait(new Promise((resolve) => setImmediate(resolve, 'was there')))
  deadlines.sent()
  const untilMs = performance.now() + 60
  while (performance.now() < untilMs);
  expect(await waiting).toBe('was there')
})

test('time that the process did not live through is not held against Redis', async () => {
  const deadlines = createResponseDeadlines(40)
  const reply = Promise.withResolvers<string>()
  const waiting = deadlines.wait(reply.promise)
  deadlines.sent()
  await sleep(10)
  const untilMs = performance.now() + 200
  while (performance.now() < untilMs);
  await sleep(15)
  reply.resolve('as soon as the machine went on')
  expect(await waiting).toBe('as soon as the machine went on')
})

test('a Redis that is slow is not away: while it replies to the calls before, a call waits for its turn', async () => {
  const deadlines = createResponseDeadlines(60)
  const before = Array.from({ length: 5 }, () => Promise.withResolvers<string>())
  const replies = before.map(({ promise }) => deadlines.wait(promise))
  const last = deadlines.wait(sleep(200, 'its turn'))
  deadlines.sent()
  for (const { resolve } of before) {
    await sleep(30)
    resolve('in time')
  }
  expect(await Promise.all(replies)).toEqual(Array.from({ length: 5 }, () => 'in time'))
  expect(await last).toBe('its turn')
})

test('no call waits for more than four times its time, however many replies come meanwhile', async () => {
  const deadlines = createResponseDeadlines(40)
  const sentAtMs = performance.now()
  const silent = deadlines.wait(never()).catch((error: Error) => error.message)
  deadlines.sent()
  const others = setInterval(() => void deadlines.wait(Promise.resolve()), 10)
  expect(await silent).toMatch(/did not answer within \d+ ms/)
  clearInterval(others)
  expect(performance.now() - sentAtMs).toBeGreaterThanOrEqual(160)
})

test('a connection that says nothing for four timeouts is silent, however many calls were given up meanwhile', async () => {
  const silences: number[] = []
  const deadlines = createResponseDeadlines(20, (silentMs) => silences.push(silentMs))
  const givenUp = deadlines.wait(never()).catch(() => {})
  deadlines.sent()
  await givenUp
  deadlines.sent()
  await expect.poll(() => silences).toEqual([80])
})

test('a connection that said something is not silent while no reply is due', async () => {
  const silences: number[] = []
  const deadlines = createResponseDeadlines(20, (silentMs) => silences.push(silentMs))
  deadlines.sent()
  deadlines.received()
  const givenUp = deadlines.wait(never()).catch(() => {})
  deadlines.sent()
  deadlines.received()
  await givenUp
  await sleep(200)
  expect(silences).toEqual([])
})
