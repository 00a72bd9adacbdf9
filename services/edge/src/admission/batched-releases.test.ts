import {
  AdmissionUnavailableError,
  type AdmitDecision,
  type AdmitRequest,
  type EdgeAdmission,
} from '@gateway/admission/port'
import { createLogger } from '@gateway/telemetry/logger'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type KnownStore, knownStore } from '../../test/known-store.ts'
import { batchReleases } from './batched-releases.ts'

const ACCOUNT = 'account'
const KEY = 'a-key-hash'
const ALLOWANCE = 1_000
const TOKENS_PER_MINUTE = 10_000
const HOLD_MS = 100
const logger = createLogger({ service: 'test', level: 'silent' })

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 15) }))
afterEach(() => void vi.useRealTimers())

function requestOf(requestId: string, usualTokens = 10, worstCharge = 10): AdmitRequest {
  return {
    requestId,
    account: ACCOUNT,
    keyHash: KEY,
    planHint: 'free',
    planIncludesModel: true,
    limits: {
      requestsPerMinute: 1_000,
      tokensPerMinute: TOKENS_PER_MINUTE,
      requestsPerDay: null,
      allowance: ALLOWANCE,
    },
    usualTokens,
    worstCharge,
    leaseMs: 3_600_000,
  }
}

const endOf = (requestId: string, charge = 4, tokens = 5) => ({ account: ACCOUNT, requestId, charge, tokens })

describe('an end', () => {
  let store: KnownStore
  let calls: string[]
  let isAway: boolean
  let edge: EdgeAdmission & AsyncDisposable

  beforeEach(async () => {
    store = await knownStore(ACCOUNT, KEY)
    calls = []
    isAway = false
    const watch = <Reply>(what: string, give: () => Promise<Reply>): Promise<Reply> => {
      if (isAway) return Promise.reject(new AdmissionUnavailableError('away'))
      calls.push(what)
      return give()
    }
    const watched: EdgeAdmission = {
      partOf: store.partOf,
      admit: (request) => {
        const ends = (request.ends ?? []).map(({ requestId }) => ` with the end of ${requestId}`)
        return watch(`admit ${request.requestId}${ends.join('')}`, () => store.admit(request))
      },
      finish: (end) => watch(`finish ${end.requestId}`, () => store.finish(end)),
      renew: (leases, leaseMs) => store.renew(leases, leaseMs),
      authenticate: (key) => watch('authenticate', () => store.authenticate(key)),
    }
    edge = batchReleases(watched, logger)
  })
  const admit = (id: string, usualTokens?: number, worstCharge?: number) =>
    edge.admit(requestOf(id, usualTokens, worstCharge))

  test("travels with the account's next admission", async () => {
    await admit('a')
    await admit('b')
    await edge.finish(endOf('a'))
    await edge.finish(endOf('b'))
    await admit('c')
    await vi.advanceTimersByTimeAsync(10 * HOLD_MS)
    expect(calls).toEqual(['admit a', 'admit b', 'admit c with the end of a with the end of b'])
    expect(await store.inspect(ACCOUNT)).toMatchObject({ running: 10, ended: 8 })
  })

  test('is sent by itself within 100 ms when the account sends nothing more', async () => {
    await admit('a')
    await edge.finish(endOf('a'))
    expect(calls).toEqual(['admit a'])
    await vi.advanceTimersByTimeAsync(HOLD_MS)
    expect(calls).toEqual(['admit a', 'finish a'])
  })

  test('is sent at once where the allowance is nearly held, and where the bucket is less than half full', async () => {
    await admit('a', 10, ALLOWANCE / 2)
    await edge.finish(endOf('a'))
    await admit('b', TOKENS_PER_MINUTE / 2 + 1)
    await edge.finish(endOf('b'))
    expect(calls).toEqual(['admit a', 'finish a', 'admit b', 'finish b'])
  })

  test('is sent at once when a later request of the account came near its limits or was refused', async () => {
    await admit('early')
    await admit('late', 10, ALLOWANCE - 10)
    await edge.finish(endOf('early'))
    await admit('refused')
    expect(calls).toEqual(['admit early', 'admit late', 'finish early', 'admit refused'])
  })

  test('is sent at once when the account sent nothing for five seconds', async () => {
    await admit('a')
    await vi.advanceTimersByTimeAsync(5_000)
    await edge.finish(endOf('a'))
    expect(calls).toEqual(['admit a', 'finish a'])
  })

  test("is sent before anybody reads the account's use", async () => {
    await admit('a')
    await edge.finish(endOf('a'))
    expect(await edge.authenticate({ account: ACCOUNT, keyHash: KEY })).toMatchObject({ used: 4 })
  })

  test('that an admission without a reply carried is sent again', async () => {
    await admit('a')
    await edge.finish(endOf('a'))
    isAway = true
    await expect(admit('b')).rejects.toThrow(AdmissionUnavailableError)
    isAway = false
    await vi.advanceTimersByTimeAsync(HOLD_MS)
    expect(calls).toEqual(['admit a', 'finish a'])
  })

  test('that the store does not hear is left to the ledger, and the edge goes on', async () => {
    await admit('a')
    await edge.finish(endOf('a'))
    isAway = true
    await vi.advanceTimersByTimeAsync(HOLD_MS)
    isAway = false
    await admit('b')
    expect(calls).toEqual(['admit a', 'admit b'])
  })

  test('is sent when the edge stops', async () => {
    await admit('a')
    await edge.finish(endOf('a'))
    await edge[Symbol.asyncDispose]()
    expect(calls).toEqual(['admit a', 'finish a'])
  })
})

const requestNumber = fc.integer({ min: 0, max: 30 })
const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ admit: requestNumber, tokens: fc.nat(400), worst: fc.nat(60) }) },
    { weight: 5, arbitrary: fc.record({ finish: requestNumber, part: fc.nat(100) }) },
    { weight: 2, arbitrary: fc.record({ advanceMs: fc.constantFrom(1, 10, 60, HOLD_MS, 5_000) }) },
  ),
  { maxLength: 80, size: 'max' },
)

interface Admitted {
  edge: number
  tokens: number
  worst: number
}

/** Runs the steps on this many edges of one store. A request stays on its edge, and ends once. */
async function play(edges: number, sequence: Step[], look: (held: KnownStore, truth: KnownStore) => Promise<void>) {
  const [held, truth] = [await knownStore(ACCOUNT, KEY), await knownStore(ACCOUNT, KEY)]
  await using opened = new AsyncDisposableStack()
  const holding = Array.from({ length: edges }, () => opened.use(batchReleases(held, logger)))
  const running = new Map<number, Admitted>()
  const seen = new Set<number>()
  const decisions: [unknown, unknown][] = []
  for (const step of sequence) {
    if ('advanceMs' in step) await vi.advanceTimersByTimeAsync(step.advanceMs)
    else if ('admit' in step && !seen.has(step.admit)) {
      const { admit: id, tokens, worst } = step
      seen.add(id)
      const request = requestOf(`request-${id}`, tokens, worst)
      const decision = await holding[id % edges]!.admit(request)
      if (decision.kind === 'allow') running.set(id, { edge: id % edges, tokens, worst })
      if (decision.kind === 'allow' || edges === 1) decisions.push([decision, await truth.admit(request)])
    } else if ('finish' in step && running.has(step.finish)) {
      const { edge, tokens, worst } = running.get(step.finish)!
      running.delete(step.finish)
      const part = step.part / 100
      const end = endOf(`request-${step.finish}`, Math.floor(worst * part), Math.floor(tokens * part))
      await Promise.all([holding[edge]!.finish(end), truth.finish(end)])
    }
    await look(held, truth)
  }
  await vi.advanceTimersByTimeAsync(HOLD_MS)
  return { held: await held.inspect(ACCOUNT), truth: await truth.inspect(ACCOUNT), decisions }
}

type Step = { admit: number; tokens: number; worst: number } | { finish: number; part: number } | { advanceMs: number }

test('one edge gets the same decisions as if it sent every end at once', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const { held, truth, decisions } = await play(1, sequence, async () => {})
      for (const [decision, atOnce] of decisions) expect(decision).toEqual(atOnce)
      expect(inOrder(held)).toEqual(inOrder(truth))
    }),
    { numRuns: 300 },
  )
})

test('however many edges hold ends, the store never counts less than is used, and 100 ms later it counts exactly that', async () => {
  let countedMore = 0
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 2, max: 4 }), steps, async (edges, sequence) => {
      const { held, truth } = await play(edges, sequence, async (store, atOnce) => {
        const [mine, real] = [await store.inspect(ACCOUNT), await atOnce.inspect(ACCOUNT)]
        expect(mine.running + mine.ended).toBeGreaterThanOrEqual(real.running + real.ended)
        if (mine.running > real.running) countedMore++
      })
      expect(inOrder(held)).toEqual(inOrder(truth))
    }),
    { numRuns: 300 },
  )
  expect(countedMore).toBeGreaterThan(0)
})

function inOrder({ requests, ...held }: Awaited<ReturnType<KnownStore['inspect']>>) {
  return { ...held, requests: requests.toSorted((one, other) => (one.requestId < other.requestId ? -1 : 1)) }
}

test("a key's request that was near a limit ends at once, though another key of its project is far from any", async () => {
  const finished: string[] = []
  const tightKeys = new Set(['tight'])
  const quotaStatus = {} as Extract<AdmitDecision, { kind: 'allow' }>['quotaStatus']
  const store: EdgeAdmission = {
    partOf: () => '',
    admit: async ({ keyHash }) => ({ kind: 'allow', quotaStatus, isTight: tightKeys.has(keyHash) }),
    finish: async ({ requestId }) => void finished.push(requestId),
    renew: async () => [],
    authenticate: async () => ({ kind: 'miss' }),
  }
  await using edge = batchReleases(store, logger)
  const limited = (requestId: string, keyHash: string) => ({ ...requestOf(requestId), keyHash, policyHint: '1.1' })
  await edge.admit(limited('near', 'tight'))
  await edge.admit(limited('far', 'loose'))
  await edge.finish(endOf('near'))
  await edge.finish(endOf('far'))
  expect(finished).toEqual(['near'])
  // The next request of the project takes the held end along.
  await vi.advanceTimersByTimeAsync(200)
  expect(finished).toEqual(['near', 'far'])
})
