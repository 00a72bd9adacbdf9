import type { operations } from '@gateway/contracts/administration/operations'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLedger, type TestLedger } from '../../test/ledger.ts'
import { messageOf, requestIdAt, usageEvent } from '../../test/usage-events.ts'
import { consumeUsage } from '../consumers/usage.ts'
import { sumUpNotes, sumUpOldMinutes } from '../db/usage-sums.ts'
import { administer } from './administer.ts'

let postgres: PostgresServer
let ledger: TestLedger
beforeAll(async () => {
  postgres = await startPostgres()
  ledger = await openLedger(postgres)
})
afterAll(async () => {
  await ledger[Symbol.asyncDispose]()
  await postgres[Symbol.asyncDispose]()
})

/** The month of the reports begins here. */
const FROM_MS = Date.parse('2025-02-01T00:00:00Z')
const NOW_MS = FROM_MS + 90_000_000
const SUMS = ['usage_by_day', 'usage_by_minute', 'usage_by_tag', 'usage_of_organization']
let tests = 0
let accounts: string[] = []

const report = fc.record({
  request: fc.nat({ max: 11 }),
  account: fc.nat({ max: 1 }),
  key: fc.nat({ max: 2 }),
  reporter: fc.constantFrom('edge' as const, 'router' as const),
  tokens: fc.integer({ min: 10, max: 500 }),
  modelAsked: fc.constantFrom('svc-fast', 'svc-core', 'svc-pro'),
  unit: fc.constantFrom('tokens' as const, 'usd' as const),
  minute: fc.integer({ min: -3, max: 1_500 }),
  isVoid: fc.boolean(),
  images: fc.option(fc.integer({ min: 1, max: 10 }), { nil: undefined }),
  team: fc.option(fc.constantFrom('search', 'ads'), { nil: undefined }),
})
type Drawn = typeof report extends fc.Arbitrary<infer Of> ? Of : never
const batch = fc.record({ reports: fc.array(report, { minLength: 1, maxLength: 6 }), isSummedUp: fc.boolean() })

function eventOf(drawn: Drawn, requestIds: readonly string[]): UsageEvent {
  const { request, account, key, minute, isVoid, images, team, unit, ...rest } = drawn
  const event = usageEvent({
    ...rest,
    unit,
    ...(unit === 'usd' && { price: { kind: 'base', nanoUsdPerKiloToken: 1_234_567 } }),
    ...(isVoid && { outcome: 'edge_lost', delivered: false }),
    ...(team && { tags: { team, env: 'prod' } }),
    // A request has one kind in all reports of it.
    kind: request % 3 === 0 ? 'images' : 'chat',
    account: accounts[account]!,
    keyId: `key0000${key}`,
    userId: `user-${key}`,
    claim: `claim ${request % 4}`,
    startedAtMs: FROM_MS + minute * 60_000,
    window: '2025-02',
    requestId: requestIds[request]!,
  })
  return { ...event, usage: { ...event.usage, images: images ?? 0 } }
}

interface Totals {
  requests: number
  input: number
  images: number
  nanoUsd: number
}

async function totalsOfRows(where: string): Promise<Totals> {
  const { rows } = await ledger.database.query<Totals & Record<string, unknown>>(
    `select count(*) as requests, coalesce(sum(prompt_tokens), 0)::bigint as input,
       coalesce(sum(images), 0)::bigint as images,
       coalesce(sum(charge) filter (where unit = 'usd'), 0)::bigint as "nanoUsd"
     from metering.ledger where account = any($1) and ${where}`,
    [accounts],
  )
  return rows[0]!
}

type Result = Record<string, unknown>

/** The results of all pages. */
async function show(name: keyof typeof operations, query: Record<string, unknown>): Promise<Result[]> {
  const results: Result[] = []
  for (let page: string | null | undefined; page !== null;) {
    const input = { start_time: FROM_MS / 1000, end_time: FROM_MS / 1000 + 172_800, ...query, ...(page && { page }) }
    const context = { database: ledger.database, now: () => NOW_MS }
    const reply = await administer(context, { operation: name, input })
    if (reply.kind === 'refused') throw new Error(`${reply.code} ${reply.param}`)
    const shown = reply.output as { data: { results: Result[] }[]; next_page: string | null }
    results.push(...shown.data.flatMap((bucket) => bucket.results))
    page = shown.next_page
  }
  return results
}

const sumOf = (results: readonly Result[], field: string) =>
  results.reduce((sum, result) => sum + Number(result[field]), 0)
const nanoUsdOf = (results: readonly Result[]) =>
  results.reduce((sum, { amount }) => sum + Math.round((amount as { value: number }).value * 1e9), 0)

async function expectTotals(
  group_by: readonly string[],
  filter: Record<string, unknown>,
  widths = ['1d', '1h', '1m'],
): Promise<void> {
  const query = { ...filter, group_by }
  const [chats, pictures, all] = await Promise.all(["kind = 'chat'", "kind = 'images'", 'true'].map(totalsOfRows))
  for (const bucket_width of widths) {
    const completions = await show('usage.completions', { ...query, bucket_width })
    const images = await show('usage.images', { ...query, bucket_width })
    const { requests, input } = chats!
    expect([bucket_width, sumOf(completions, 'num_model_requests')]).toEqual([bucket_width, requests])
    expect([bucket_width, sumOf(completions, 'input_tokens')]).toEqual([bucket_width, input])
    expect([bucket_width, sumOf(images, 'num_model_requests')]).toEqual([bucket_width, pictures!.requests])
    expect([bucket_width, sumOf(images, 'images')]).toEqual([bucket_width, pictures!.images])
  }
  const costGroups = group_by.map((name) => (name === 'model' ? 'line_item' : name))
  expect(nanoUsdOf(await show('usage.costs', { ...filter, group_by: costGroups }))).toBe(all!.nanoUsd)
}

async function expectTotalsOfTags(filter: Record<string, unknown>): Promise<void> {
  const byTag = await show('usage.costs', { ...filter, group_by: ['tag', 'line_item'] })
  for (const team of ['search', 'ads']) {
    const { nanoUsd } = await totalsOfRows(`tags->>'team' = '${team}'`)
    expect([team, nanoUsdOf(byTag.filter(({ tag }) => tag === `team=${team}`))]).toEqual([team, nanoUsd])
  }
}

test("the totals of any grouping and width, over all pages, are the ledger's, after corrections and voided claims, summed up or not", async () => {
  const run = fc.asyncProperty(
    fc.array(batch, { minLength: 1, maxLength: 6 }),
    fc.subarray(['project_id', 'user_id', 'api_key_id', 'model']),
    fc.boolean(),
    async (batches, group_by, isOfProjects) => {
      // A query of the organization sees the accounts of this run alone, and all of their tags.
      for (const table of ['ledger', 'windows', 'usage_notes', ...SUMS]) {
        await ledger.database.query(`delete from metering.${table}`)
      }
      accounts = [`proj${++tests}a`, `proj${tests}b`]
      const requestIds = Array.from({ length: 12 }, () => requestIdAt(FROM_MS))
      for (const { reports, isSummedUp } of batches) {
        await consumeUsage(ledger, [messageOf(...reports.map((drawn) => eventOf(drawn, requestIds)))])
        if (isSummedUp) await sumUpNotes(ledger.database)
      }
      const filter = isOfProjects ? { project_ids: accounts.map((name) => `proj_${name}`) } : {}
      await expectTotals(group_by, filter)
      await expectTotalsOfTags(filter)
      // A day and two hours later the minutes are summed up by the hour. Late rows of an hour join it.
      await sumUpNotes(ledger.database)
      await sumUpOldMinutes(ledger.database, FROM_MS + 180_000_000)
      await expectTotals(group_by, filter, ['1h'])
      await expectTotalsOfTags(filter)
    },
  )
  await fc.assert(run, { numRuns: 20 })
}, 300_000)

test('readers see each request once while writers record and processes sum up beside them', async () => {
  accounts = [`proj${++tests}a`, `proj${tests}b`]
  const drawn = (): UsageEvent => usageEvent({ account: accounts[0]!, window: '2025-02', startedAtMs: FROM_MS })
  const query = { project_ids: [`proj_${accounts[0]}`] }
  let recorded = 0
  const over = new AbortController()
  const untilOver = async (work: () => Promise<unknown>) => {
    while (!over.signal.aborted) await work()
  }
  const reads = async () => {
    const least = recorded
    const seen = sumOf(await show('usage.completions', query), 'num_model_requests')
    expect(seen).toBeGreaterThanOrEqual(least)
    expect(seen).toBeLessThanOrEqual(recorded + 5)
  }
  const writes = async () => {
    for (let batches = 0; batches < 40; batches++) {
      await consumeUsage(ledger, [messageOf(...Array.from({ length: 5 }, drawn))])
      recorded += 5
    }
  }
  const sumsUp = () => untilOver(() => sumUpNotes(ledger.database))
  await Promise.all([writes(), untilOver(reads), sumsUp(), sumsUp()].map((part) => part.finally(() => over.abort())))
  await sumUpNotes(ledger.database)
  expect(sumOf(await show('usage.completions', query), 'num_model_requests')).toBe(200)
})
