/**
 * The bucket of tokens per minute and the ledger both hold the generated tokens, for any end of a request. Its end, its reports
 * and their repetitions come in any order. On both adapters of admission and the real ledger.
 *
 * A large request empties half of a bucket that refills slowly. So the bucket is never full, and each taken token shows in its rest.
 */

import { randomUUID } from 'node:crypto'
import { limitsWith } from '@gateway/admission/limits-for-tests'
import type { Admission } from '@gateway/admission/port'
import { openMemoryAdmission } from '@gateway/admission/memory'
import { openRedisAdmission } from '@gateway/admission/redis'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import { startPostgres, startRedis, type PostgresServer, type Server } from '@gateway/servers/start'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { consumeUsage } from '../src/consumers/usage.ts'
import { openLedger, type TestLedger } from './ledger.ts'
import { IN_WINDOW_MS, messageOf, requestIdAt, usageEvent, WINDOW } from './usage-events.ts'

const KEY = 'a-key-hash'
const TOKENS_PER_MINUTE = 600_000_000
const TOKENS_PER_MS = TOKENS_PER_MINUTE / 60_000
const BALLAST = 300_000_000
/** Beyond it the ballast would be refilled. */
const RUNS_AT_MOST_MS = 25_000
const LEASE_MS = 1_000
/** 1.5x. */
const MILLI_TOKENS = 1_500

let postgres: PostgresServer
let redis: Server
beforeAll(async () => {
  postgres = await startPostgres()
  redis = await startRedis()
})
afterAll(async () => {
  await redis[Symbol.asyncDispose]()
  await postgres[Symbol.asyncDispose]()
})

const adapters: [string, (now: () => number) => Promise<Admission>][] = [
  ['memory', async (now) => openMemoryAdmission({ now })],
  ['Redis', (now) => openRedisAdmission({ url: redis.url, timeoutMs: 5_000, now })],
]

interface Stage extends AsyncDisposable {
  clock: { nowMs: number }
  store: Admission
  ledger: TestLedger
}

async function openStage(open: (now: () => number) => Promise<Admission>): Promise<Stage> {
  await using opening = new AsyncDisposableStack()
  const clock = { nowMs: IN_WINDOW_MS }
  const store = opening.use(await open(() => clock.nowMs))
  const ledger = opening.use(await openLedger(postgres, { store }))
  const opened = opening.move()
  return { clock, store, ledger, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** An account of its own, known to the store. */
async function newAccount({ store }: Stage, tokensPerMinute: number) {
  const account = randomUUID().slice(0, 8)
  const keys = [{ keyHash: KEY, version: 1, active: true }]
  await store.fill({ account, version: 1, plan: 'free', overage: false, extra: 0, keys })
  await store.warm({ account, window: WINDOW, settled: 0, version: 0 })
  const limits = limitsWith({ tokensPerMinute, allowance: 1e15 })
  const admit = (requestId: string, usualTokens: number, leaseMs = LEASE_MS) =>
    store.admit({
      ...{ requestId, account, keyHash: KEY, planHint: 'free', planIncludesModel: true, limits },
      ...{ usualTokens, worstCharge: 1_000, leaseMs },
    })
  return { account, admit, name: () => requestIdAt(IN_WINDOW_MS) }
}

interface Report {
  rank: 1 | 2
  tokens: number
}

/** A request as the test knows it. */
interface Incarnation {
  requestId: string
  usual: number
  /** Nobody renews it and nobody ends it any more. */
  isOver: boolean
  finished: number | null
  /** The ledger's sums. */
  row: Report | null
}

const tokens = fc.integer({ min: 10, max: 20_000 })
const which = fc.nat({ max: 1_000 })
type Step =
  | { kind: 'admit'; usual: number }
  | { kind: 'end'; which: number; how: (typeof ends)[number]; first: number; second: number }
  | { kind: 'deliver'; which: number; again: boolean }
  | { kind: 'renew' }
  | { kind: 'wait'; ms: number }

const ends = [
  'answered',
  'answered, and the store was not told',
  'left',
  'left, and dispatched twice',
  'the edge was lost',
  'the edge was thought lost',
  'failed with nothing',
  'cut',
  'never reported',
] as const

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('admit' as const), usual: fc.nat({ max: 1_500 }) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      ...{ which, how: fc.constantFrom(...ends), first: tokens, second: tokens },
    }),
  },
  { weight: 7, arbitrary: fc.record({ kind: fc.constant('deliver' as const), which, again: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('renew' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 1_500 }) }) },
)

describe.each(adapters)('with admission in %s', (_, open) => {
  test('over any sequence of finished, cut, abandoned and failed requests, bucket and ledger hold the generated tokens', async () => {
    await using stage = await openStage(open)
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 50, size: 'max' }), async (steps) => {
        await play(stage, steps)
      }),
      { numRuns: 60 },
    )
  })

  test('clients that hang up before the end, in a loop, are limited as those that read to it', async () => {
    await using stage = await openStage(open)
    const generated = { left: 0, read: 0 }
    for (const how of ['left', 'read'] as const) {
      stage.clock.nowMs = IN_WINDOW_MS
      const { account, admit, name } = await newAccount(stage, 60_000)
      for (let sent = 0; sent < 60; sent++) {
        const requestId = name()
        const { kind } = await admit(requestId, 600, 30_000)
        stage.clock.nowMs += 900
        if (kind !== 'allow') continue
        generated[how] += 8_292
        const event = { ...usageEvent({ account, tokens: 8_292 }), requestId }
        if (how === 'read') {
          await stage.store.finish({ account, requestId, charge: 8_292 * MILLI_TOKENS, tokens: 8_292 })
          await consumeUsage(stage.ledger, [messageOf(event)])
        } else {
          const left = { ...event, reporter: 'router', outcome: 'client_gone', delivered: false }
          await consumeUsage(stage.ledger, [messageOf(left)])
        }
      }
    }
    expect(generated.left).toBe(generated.read)
    // A full bucket, the refill of 54 s, and the debt of the last request.
    expect(generated.left).toBeLessThanOrEqual(60_000 + 54_000 + 8_292)
  })
})

async function play(stage: Stage, steps: readonly Step[]): Promise<void> {
  const { clock, store, ledger } = stage
  clock.nowMs = IN_WINDOW_MS
  const { account, admit, name } = await newAccount(stage, TOKENS_PER_MINUTE)
  expect((await admit('ballast', BALLAST, 3_600_000)).kind).toBe('allow')
  const lives: Incarnation[] = []
  const queue: UsageEvent[] = []

  const report = (life: Incarnation, reporter: 'edge' | 'router', generated: number) => {
    const outcome = reporter === 'edge' ? ('completed' as const) : ('client_gone' as const)
    queue.push({ ...usageEvent({ account, reporter, outcome, tokens: generated }), requestId: life.requestId })
  }
  const finish = async (life: Incarnation, generated: number) => {
    // A later end does not change the ledger's figures.
    life.finished ??= generated
    const { requestId } = life
    await store.finish({ account, requestId, charge: generated * MILLI_TOKENS, tokens: generated })
  }
  const deliver = async (index: number, again: boolean) => {
    const event = again ? queue[index] : queue.splice(index, 1)[0]
    if (!event) return
    await consumeUsage(ledger, [messageOf(event)])
    const life = lives.find(({ requestId }) => requestId === event.requestId)!
    life.row = quotaStatus(life.row, {
      rank: event.reporter === 'edge' ? 2 : 1,
      tokens: event.usage.promptTokens + event.usage.completionTokens,
    })
  }
  const end = async (life: Incarnation, how: (typeof ends)[number], first: number, second: number) => {
    life.isOver = true
    switch (how) {
      case 'answered':
        report(life, 'edge', first)
        return finish(life, first)
      case 'answered, and the store was not told':
        return report(life, 'edge', first)
      case 'cut':
      case 'left':
      case 'the edge was lost':
        return report(life, 'router', first)
      case 'left, and dispatched twice':
        report(life, 'router', first)
        return report(life, 'router', second)
      case 'the edge was thought lost':
        report(life, 'router', first)
        report(life, 'edge', second)
        return finish(life, second)
      case 'failed with nothing':
        return finish(life, 0)
      case 'never reported':
        return
    }
  }

  for (const next of steps) {
    if (next.kind === 'admit') {
      const life = { requestId: name(), usual: next.usual, isOver: false, finished: null, row: null }
      expect((await admit(life.requestId, life.usual)).kind).toBe('allow')
      lives.push(life)
    } else if (next.kind === 'end') {
      const running = lives.filter(({ isOver }) => !isOver)
      const life = running[next.which % Math.max(1, running.length)]
      if (life) await end(life, next.how, next.first, next.second)
    } else if (next.kind === 'deliver') {
      await deliver(next.which % Math.max(1, queue.length), next.again)
    } else if (next.kind === 'renew') {
      const running = lives.filter(({ isOver }) => !isOver)
      await store.renew(
        running.map(({ requestId }) => ({ account, requestId })),
        LEASE_MS,
      )
    } else if (clock.nowMs + next.ms < IN_WINDOW_MS + RUNS_AT_MOST_MS) {
      clock.nowMs += next.ms
    }
  }
  while (queue.length > 0) await deliver(0, false)

  const rows = lives.flatMap(({ row }) => (row ? [row] : []))
  const charged = rows.reduce((sum, row) => sum + row.tokens * MILLI_TOKENS, 0)
  expect(await ledger.audit(account)).toMatchObject({ rows: rows.length, sum: charged, total: charged })
  expect(await tokensInBucket(admit, clock.nowMs), 'tokens that the bucket holds').toBe(
    lives.reduce((sum, life) => sum + (life.row?.tokens ?? life.finished ?? life.usual), 0),
  )
}

/** The rule of the ledger: an edge's report stands, and of two routers' the larger. */
function quotaStatus(held: Report | null, next: Report): Report {
  if (held === null || next.rank > held.rank) return next
  return next.rank === 1 && held.rank === 1 && next.tokens > held.tokens ? next : held
}

async function tokensInBucket(admit: Awaited<ReturnType<typeof newAccount>>['admit'], nowMs: number): Promise<number> {
  const decision = await admit('probe', 0)
  if (decision.kind !== 'allow') throw new Error(`the probe got ${decision.kind}`)
  const refilled = TOKENS_PER_MS * (nowMs - IN_WINDOW_MS)
  return TOKENS_PER_MINUTE - BALLAST + refilled - decision.quotaStatus.tokens.remaining
}
