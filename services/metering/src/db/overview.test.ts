import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import type { OverviewRequest } from '@gateway/contracts/metering-api'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import fc, { type Arbitrary } from 'fast-check'
import { afterAll, beforeAll, beforeEach, afterEach, expect, test } from 'vitest'
import { openLedger, type TestLedger } from '../../test/ledger.ts'
import { IN_WINDOW_MS, messageOf, requestIdAt, usageEvent } from '../../test/usage-events.ts'
import { consumeUsage } from '../consumers/usage.ts'
import { administer } from '../handlers/administer.ts'
import { readOverview } from './overview.ts'
import { sumUpNotes, sumUpOldMinutes } from './usage-sums.ts'

let postgres: PostgresServer
let ledger: TestLedger
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => void (ledger = await openLedger(postgres)))
afterEach(() => ledger[Symbol.asyncDispose]())

const NOW_MS = IN_WINDOW_MS + 30_000
const HOUR = 3_600
const DAY = 86_400
const secondsAt = (bucketSeconds: number) => (Math.floor(NOW_MS / 1_000 / bucketSeconds) + 1) * bucketSeconds

const WINDOWS = [
  { width: '1m', bucketSeconds: 60, from: secondsAt(60) - 60 * 60, to: secondsAt(60) },
  { width: '1h', bucketSeconds: HOUR, from: secondsAt(HOUR) - 24 * HOUR, to: secondsAt(HOUR) },
  { width: '1d', bucketSeconds: DAY, from: secondsAt(DAY) - 31 * DAY, to: secondsAt(DAY) },
] as const

const read = (window: (typeof WINDOWS)[number], of: Partial<OverviewRequest> = {}) =>
  readOverview(ledger.database, { ...window, account: null, atMost: 50, also: [], ...of })
const take = (...events: UsageEvent[]) => consumeUsage(ledger, [messageOf(...events)])

const USD: Partial<UsageEvent> = { unit: 'usd', price: { kind: 'base', nanoUsdPerKiloToken: 3_000_001 } }

const report = fc.record({
  account: fc.constantFrom('acct0001', 'acct0002', 'acct0003'),
  modelAsked: fc.constantFrom('svc-fast', 'svc-core', 'gpt-5'),
  keyId: fc.constantFrom('key00001', 'key00002'),
  kind: fc.constantFrom('chat' as const, 'embeddings' as const),
  tokens: fc.integer({ min: 11, max: 9_999 }),
  isUsd: fc.boolean(),
  /** Mostly within the last hour or day. */
  agoMinutes: fc.oneof(fc.nat(70), fc.nat(26 * 60), fc.nat(9 * 24 * 60)),
  toolCalls: fc.option(fc.constant({ web_search: 2 }), { nil: undefined }),
})

type Report = typeof report extends Arbitrary<infer Value> ? Value : never

function eventOf({ tokens, isUsd, agoMinutes, toolCalls, ...rest }: Report): UsageEvent {
  const startedAtMs = NOW_MS - agoMinutes * 60_000
  const event = usageEvent({ ...rest, tokens, startedAtMs, requestId: requestIdAt(startedAtMs), ...(isUsd && USD) })
  return { ...event, usage: { ...event.usage, ...(toolCalls && { toolCalls }) } }
}

interface Costs {
  data: { results: { amount: { value: number } }[] }[]
}
interface Completions {
  data: { results: { num_model_requests: number }[] }[]
}

async function called<Page>(operation: string, input: Record<string, unknown>): Promise<Page> {
  const reply = await administer({ database: ledger.database, now: () => NOW_MS }, { operation, input })
  if (reply.kind === 'refused') throw new Error(`${reply.code} ${reply.message}`)
  return reply.output as Page
}

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)

test('an overview has the sums that usage and costs return for the same buckets, at any time', async () => {
  const run = fc.asyncProperty(
    fc.array(report, { minLength: 1, maxLength: 12 }),
    fc.boolean(),
    async (all, isSummed) => {
      await take(...all.map(eventOf))
      if (isSummed) {
        await sumUpNotes(ledger.database)
        await sumUpOldMinutes(ledger.database, NOW_MS)
      }
      for (const window of WINDOWS) {
        for (const account of [null, 'acct0002']) {
          const overview = await read(window, { account })
          const project = account === null ? {} : { project_ids: [`proj_${account}`] }
          const range = { start_time: window.from, end_time: window.to, ...project }
          const width = { bucket_width: window.width, limit: { '1m': 60, '1h': 24, '1d': 31 }[window.width] }
          const [chat, embeddings] = await Promise.all([
            called<Completions>('usage.completions', { ...range, ...width }),
            called<Completions>('usage.embeddings', { ...range, ...width }),
          ])
          const requests = sumOf(
            [...chat.data, ...embeddings.data].flatMap(({ results }) => results.map((row) => row.num_model_requests)),
          )
          expect([window.width, account, overview.totals.requests]).toEqual([window.width, account, requests])
          for (const part of [overview.buckets, overview.models, overview.accounts]) {
            for (const member of ['requests', 'milliTokens', 'nanoUsd'] as const) {
              expect(sumOf(part.map((row) => row[member]))).toBe(overview.totals[member])
            }
          }
          if (window.width !== '1d') continue
          const costs = await called<Costs>('usage.costs', { ...range, limit: 31 })
          const usd = sumOf(costs.data.flatMap(({ results }) => results.map(({ amount }) => amount.value)))
          expect(overview.totals.nanoUsd / 1e9).toBeCloseTo(usd, 9)
        }
      }
    },
  )
  await fc.assert(run, { numRuns: 12 })
})

test('the projects with the greatest charges and the most requests are named, and those that the edge wants', async () => {
  const event = (account: string, tokens: number) => usageEvent({ account, tokens, startedAtMs: NOW_MS })
  await take(event('dear0001', 9_000), event('idle0001', 11), event('else0001', 12))
  await take(...Array.from({ length: 3 }, () => event('busy0001', 20)))
  for (const window of WINDOWS) {
    const { accounts, allAccounts } = await read(window, { atMost: 1, also: ['idle0001', 'none0001'] })
    expect(accounts.map(({ name }) => name).toSorted()).toEqual(['busy0001', 'dear0001', 'idle0001'])
    expect(allAccounts).toBe(4)
  }
})

test('an empty ledger has an overview of nothing', async () => {
  for (const window of WINDOWS) {
    expect(await read(window)).toEqual({
      totals: { requests: 0, milliTokens: 0, nanoUsd: 0 },
      buckets: [],
      models: [],
      accounts: [],
      allAccounts: 0,
    })
  }
})

test('a report that takes the place of another counts once', async () => {
  const router = usageEvent({ reporter: 'router', outcome: 'edge_lost', delivered: false, startedAtMs: NOW_MS })
  await take(router)
  await sumUpNotes(ledger.database)
  await take({ ...router, reporter: 'edge', outcome: 'completed', delivered: true, modelAsked: 'svc-core' })
  await sumUpNotes(ledger.database)
  for (const window of WINDOWS) {
    const { totals, models, accounts } = await read(window)
    expect(totals.requests).toBe(1)
    expect(models.map(({ name }) => name)).toEqual(['svc-core'])
    expect(accounts.map(({ requests }) => requests)).toEqual([1])
  }
})
