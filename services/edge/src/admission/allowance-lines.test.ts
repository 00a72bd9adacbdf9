import type { AdmitRequest } from '@gateway/admission/port'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type KnownStore, knownStore } from '../../test/known-store.ts'
import { type AllowanceLines, type Decision, isPending, openAllowanceLines } from './allowance-lines.ts'

const ACCOUNT = 'account'
const KEY = 'a-key-hash'

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 15) }))
afterEach(() => void vi.useRealTimers())

function requestOf(requestId: string, allowance: number, worstCharge: number): AdmitRequest {
  const limits = { requestsPerMinute: 1_000, tokensPerMinute: 1_000_000, requestsPerDay: null, allowance }
  const key = { account: ACCOUNT, keyHash: KEY, planHint: 'free', planIncludesModel: true }
  return { requestId, ...key, limits, usualTokens: 1, worstCharge, leaseMs: 3_600_000 }
}

/** Admits and finishes as an edge does. */
function openEdge(store: KnownStore, allowance: number, lines: AllowanceLines = openAllowanceLines()) {
  const caller = { account: ACCOUNT, keyHash: KEY }
  return {
    async admit(id: string, worstCharge: number): Promise<Decision> {
      const call = async () => (await store.admit(requestOf(id, allowance, worstCharge))) as Decision
      const decision = await call()
      return isPending(decision) ? lines.wait(caller, decision, call) : decision
    },
    async finish(id: string, charge: number): Promise<void> {
      await store.finish({ account: ACCOUNT, requestId: id, charge, tokens: 1 })
      lines.ended(ACCOUNT)
    },
  }
}

const outcomeOf = (decision: Decision) => (decision.kind === 'allow' ? 'allow' : decision.reason)

test('of 100 requests at once, 20 are served of an allowance for 20, though each could cost half of it', async () => {
  const edge = openEdge(await knownStore(ACCOUNT, KEY), 20)
  const replies = Promise.all(
    Array.from({ length: 100 }, async (_, at) => {
      const decision = await edge.admit(`${at}`, 10)
      if (decision.kind === 'allow') setTimeout(() => void edge.finish(`${at}`, 1), 30)
      return outcomeOf(decision)
    }),
  )
  await vi.advanceTimersByTimeAsync(1_500)
  const outcomes = Object.entries(Object.groupBy(await replies, (outcome) => outcome))
  expect(outcomes.map(([outcome, all]) => [outcome, all.length])).toEqual([
    ['allow', 20],
    ['allowance', 80],
  ])
})

test('a request that waits is served when a request on another edge has ended', async () => {
  const store = await knownStore(ACCOUNT, KEY)
  const [one, other] = [openEdge(store, 10), openEdge(store, 10)]
  expect(outcomeOf(await one.admit('first', 10))).toBe('allow')
  const second = other.admit('second', 10)
  await vi.advanceTimersByTimeAsync(100)
  await one.finish('first', 1)
  await vi.advanceTimersByTimeAsync(250)
  expect(outcomeOf(await second)).toBe('allow')
})

test('a refusal stands when the time is over that it named', async () => {
  const edge = openEdge(await knownStore(ACCOUNT, KEY), 10)
  await edge.admit('runs for minutes', 10)
  let refusedAfterMs = -1
  const beganAtMs = performance.now()
  const second = edge.admit('second', 10)
  void second.then(() => (refusedAfterMs = performance.now() - beganAtMs))
  await vi.advanceTimersByTimeAsync(2_000)
  expect(await second).toMatchObject({ kind: 'deny', reason: 'pending', retryAfterMs: 1_000 })
  expect(refusedAfterMs).toBeGreaterThanOrEqual(1_000)
  expect(refusedAfterMs).toBeLessThanOrEqual(1_250)
})

const PENDING = { kind: 'deny', reason: 'pending', retryAfterMs: 1_000 } as Extract<Decision, { retryAfterMs: number }>
const ALLOW = { kind: 'allow' } as Decision
const OF_KEY = { ...PENDING, scope: 'key' } as const

describe('a line', () => {
  let lines: AllowanceLines
  beforeEach(() => void (lines = openAllowanceLines()))
  const wait = (account: string, keyHash = KEY, refusal = PENDING, again = async () => refusal as Decision) =>
    lines.wait({ account, keyHash }, refusal, again)
  const settled = async (waiting: Promise<Decision>) => {
    await vi.advanceTimersByTimeAsync(0)
    return Promise.race([waiting, Promise.resolve('waits')])
  }

  test('of an account holds a hundred requests, and all lines a thousand; more are refused at once', async () => {
    const begun = Array.from({ length: 100 }, () => wait('crowd'))
    expect(await settled(begun[99]!)).toBe('waits')
    expect(await settled(wait('crowd'))).toBe(PENDING)
    for (let at = 0; at < 900; at++) begun.push(wait(`account ${at}`))
    expect(await settled(begun[999]!)).toBe('waits')
    expect(await settled(wait('another'))).toBe(PENDING)
    await vi.advanceTimersByTimeAsync(1_250)
    expect(await settled(begun[0]!)).toBe(PENDING)
    const later = wait('another')
    expect(await settled(later)).toBe('waits')
    await vi.advanceTimersByTimeAsync(1_250)
    // Nobody waits, so nothing runs.
    expect(vi.getTimerCount()).toBe(0)
  })

  test('calls admission once for each end while the first is refused, however many wait', async () => {
    let calls = 0
    const again = async () => (calls++, PENDING)
    for (let at = 0; at < 50; at++) void wait('crowd', KEY, PENDING, again)
    for (let at = 1; at <= 3; at++) {
      lines.ended('crowd')
      await vi.advanceTimersByTimeAsync(10)
      expect(calls).toBe(at)
    }
    await vi.advanceTimersByTimeAsync(1_250)
  })

  test('an end that comes during a call is followed by another call', async () => {
    const first = Promise.withResolvers<Decision>()
    const replies = [first.promise, Promise.resolve(ALLOW)]
    const waiting = wait('busy', KEY, PENDING, () => replies.shift()!)
    lines.ended('busy')
    lines.ended('busy')
    first.resolve(PENDING)
    expect(await settled(waiting)).toBe(ALLOW)
  })

  test('goes on behind a request whose key has used up its own limit', async () => {
    const held = wait('project', 'held', OF_KEY)
    const alsoHeld = wait('project', 'held', OF_KEY)
    const free = wait('project', 'free', OF_KEY, async () => ALLOW)
    lines.ended('project')
    expect([await settled(held), await settled(alsoHeld), await settled(free)]).toEqual(['waits', 'waits', ALLOW])
    await vi.advanceTimersByTimeAsync(1_250)
  })

  test('hands the error of a call to its request alone, and goes on', async () => {
    const away = new Error('the store is away')
    const broken = wait('account', KEY, PENDING, () => Promise.reject(away))
    const next = wait('account', KEY, PENDING, async () => ALLOW)
    const failed = broken.catch((error: unknown) => error)
    lines.ended('account')
    expect(await failed).toBe(away)
    expect(await settled(next)).toBe(ALLOW)
  })
})

const requests = fc.array(
  fc.record({
    atMs: fc.integer({ min: 0, max: 300 }),
    runsMs: fc.integer({ min: 1, max: 1_500 }),
    worst: fc.integer({ min: 1, max: 60 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    edge: fc.nat({ max: 1 }),
  }),
  { minLength: 1, maxLength: 60 },
)

test('no request that waits begins unless used and reserved are below the allowance, and each gets its decision in time', async () => {
  const allowance = 100
  const run = fc.asyncProperty(requests, async (all) => {
    const store = await knownStore(ACCOUNT, KEY)
    const edges = [openEdge(store, allowance), openEdge(store, allowance)]
    const running = new Map<string, number>()
    let used = 0
    const decided = Promise.all(
      all.map(async ({ atMs, runsMs, worst, share, edge }, at) => {
        await new Promise((resolve) => setTimeout(resolve, atMs))
        const beganAtMs = performance.now()
        const decision = await edges[edge]!.admit(`${at}`, worst)
        const waitedMs = performance.now() - beganAtMs
        expect(waitedMs).toBeLessThanOrEqual(1_250)
        if (decision.kind === 'deny') {
          if (decision.reason === 'pending') expect(waitedMs).toBeGreaterThanOrEqual(1_000)
          return
        }
        const reserved = running.values().reduce((sum, charge) => sum + charge, 0)
        expect(used + reserved).toBeLessThan(allowance)
        running.set(`${at}`, worst)
        setTimeout(() => {
          const charge = Math.floor(worst * share)
          running.delete(`${at}`)
          used += charge
          void edges[edge]!.finish(`${at}`, charge)
        }, runsMs)
      }),
    )
    await vi.advanceTimersByTimeAsync(4_000)
    await decided
  })
  await fc.assert(run, { numRuns: 200 })
})
