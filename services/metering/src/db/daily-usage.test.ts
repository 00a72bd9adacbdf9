import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLedger, type TestLedger } from '../../test/ledger.ts'
import { messageOf, requestIdAt, usageEvent } from '../../test/usage-events.ts'
import { consumeUsage } from '../consumers/usage.ts'
import { sumUpNotes } from './usage-sums.ts'
import { readAccountUsage } from './daily-usage.ts'

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

let accounts = 0
const newAccount = () => `acct${String(++accounts).padStart(4, '0')}`
const at = (time: string) => ({ startedAtMs: Date.parse(time) })
const take = (...events: UsageEvent[]) => consumeUsage(ledger, [messageOf(...events)])
const used = (account: string, groupBy: 'day' | 'model', from = '2024-12-01', to = '2025-12-31') =>
  readAccountUsage(ledger.database, { account, from, to, groupBy })

test('usage counts requests by the day on which they were made, and by the requested model', async () => {
  const account = newAccount()
  await take(
    usageEvent({ account, ...at('2025-01-10T00:00:00Z'), modelAsked: 'svc-best', lane: 'svc-core' }),
    usageEvent({ account, ...at('2025-01-10T23:59:59.999Z') }),
    usageEvent({ account, ...at('2025-01-11T00:00:00Z'), tokens: 50 }),
  )
  const hundred = { promptTokens: 90, completionTokens: 10, cachedTokens: 0, milliTokens: 150_000, nanoUsd: 0 }
  const fifty = { promptTokens: 40, completionTokens: 10, cachedTokens: 0, milliTokens: 75_000, nanoUsd: 0 }
  expect(await used(account, 'day')).toEqual([
    { name: '2025-01-10', requests: 2, ...twice(hundred) },
    { name: '2025-01-11', requests: 1, ...fifty },
  ])
  expect(await used(account, 'model')).toEqual([
    {
      name: 'svc-fast',
      requests: 2,
      promptTokens: 130,
      completionTokens: 20,
      cachedTokens: 0,
      milliTokens: 225_000,
      nanoUsd: 0,
    },
    { name: 'svc-best', requests: 1, ...hundred },
  ])
  expect(await used(account, 'day', '2025-01-11', '2025-01-11')).toEqual([
    { name: '2025-01-11', requests: 1, ...fifty },
  ])
  expect(await used(account, 'day', '0000-01-01', '0000-12-31')).toEqual([])
  expect(await used('somebody', 'day')).toEqual([])
})

const twice = (figures: Record<string, number>) =>
  Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, 2 * value]))

test('a report that replaces another moves its requests to the model and the day that it names', async () => {
  const account = newAccount()
  const fromRouter = usageEvent({ account, reporter: 'router', tokens: 40, modelAsked: 'svc-best' })
  await take(fromRouter, usageEvent({ account }))
  const fromEdge = usageEvent({ account, ...at('2025-01-12T00:00:00Z') })
  await take({ ...fromEdge, requestId: fromRouter.requestId })
  expect(await used(account, 'model')).toMatchObject([{ name: 'svc-fast', requests: 2, milliTokens: 300_000 }])
  expect(await used(account, 'day')).toMatchObject([
    { name: '2025-01-10', requests: 1, milliTokens: 150_000 },
    { name: '2025-01-12', requests: 1, milliTokens: 150_000 },
  ])
})

test('the days of a month add up to its window, for any clock of the edge at the turn of the month', async () => {
  const account = newAccount()
  await take(
    usageEvent({ account, ...at('2025-02-01T00:00:00.010Z'), window: '2025-01' }),
    usageEvent({ account, ...at('2024-12-31T23:59:59.990Z'), window: '2025-01' }),
  )
  expect(await used(account, 'day', '2025-01-01', '2025-01-31')).toMatchObject([
    { name: '2025-01-01', requests: 1 },
    { name: '2025-01-31', requests: 1 },
  ])
})

test('both units of an account that changed its plan are listed, dearest models first', async () => {
  const account = newAccount()
  const inDollars = { unit: 'usd', price: { kind: 'base', nanoUsdPerKiloToken: 4_500_000 } } as const
  await take(
    usageEvent({ account, modelAsked: 'a-cheap-one', tokens: 20 }),
    usageEvent({ account, modelAsked: 'in-both' }),
    usageEvent({ account, modelAsked: 'in-both', ...inDollars }),
    usageEvent({ account, modelAsked: 'a-dear-one' }),
  )
  const models = await used(account, 'model')
  expect(models.map(({ name, milliTokens, nanoUsd }) => [name, milliTokens, nanoUsd])).toEqual([
    ['in-both', 150_000, 450_000],
    ['a-dear-one', 150_000, 0],
    ['a-cheap-one', 30_000, 0],
  ])
})

/** An auditor's sums of the rows alone, by the day of each request. */
const FROM_ROWS = `
  select account, day, model_asked, unit, count(*) as requests, sum(prompt_tokens)::bigint as prompt_tokens,
    sum(completion_tokens)::bigint as completion_tokens, sum(cached_tokens)::bigint as cached_tokens,
    sum(charge)::bigint as charge
  from (select *, metering.day_of(started_at, "window") as day from metering.ledger where account = any($1)) as row
  group by 1, 2, 3, 4 order by 1, 2, 3, 4`
const KEPT = `
  select account, day, model_asked, unit, requests, prompt_tokens, completion_tokens, cached_tokens, charge
  from metering.daily_usage where account = any($1) and requests <> 0 order by 1, 2, 3, 4`

async function expectSumsOfRows(of: string[]): Promise<void> {
  const { rows: fromRows } = await ledger.database.query(FROM_ROWS, [of])
  const { rows: kept } = await ledger.database.query(KEPT, [of])
  expect(kept).toEqual(fromRows)
}

const report = fc.record({
  request: fc.nat({ max: 11 }),
  account: fc.nat({ max: 1 }),
  reporter: fc.constantFrom('edge' as const, 'router' as const),
  tokens: fc.integer({ min: 10, max: 500 }),
  cachedTokens: fc.nat({ max: 10 }),
  modelAsked: fc.constantFrom('svc-fast', 'svc-core'),
  unit: fc.constantFrom('tokens' as const, 'usd' as const),
  day: fc.integer({ min: -2, max: 33 }),
})

test('after any reports, repeated, replaced and in any order, on any number of replicas, the sums are those of the rows', async () => {
  const run = fc.asyncProperty(
    fc.array(fc.array(report, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 8 }),
    async (batches) => {
      const names = [newAccount(), newAccount()]
      const ids = Array.from({ length: 12 }, () => requestIdAt(Date.parse('2025-01-10T12:00:00Z')))
      const messages = batches.map((batch) =>
        messageOf(
          ...batch.map(({ request, account, tokens, cachedTokens, day, ...rest }) => {
            const event = usageEvent({ ...rest, tokens, startedAtMs: Date.parse('2025-01-01') + day * 86_400_000 })
            const usage = { ...event.usage, cachedTokens }
            return { ...event, usage, requestId: ids[request]!, account: names[account]! }
          }),
        ),
      )
      await Promise.all(messages.map((message) => consumeUsage(ledger, [message])))
      await consumeUsage(ledger, messages.toReversed())
      await expectSumsOfRows(names)
    },
  )
  await fc.assert(run, { numRuns: 60 })
})

test('a crash before the commit leaves nothing of either', async () => {
  const account = newAccount()
  await ledger.database.query(`
    create function metering.fail() returns trigger language plpgsql as $$ begin raise exception 'killed' using errcode = '57P01'; end $$;
    create trigger fail before insert on metering.usage_notes for each row execute function metering.fail()`)
  await expect(take(usageEvent({ account }))).rejects.toThrow('killed')
  expect(await ledger.audit(account)).toMatchObject({ rows: 0, total: 0 })
  await ledger.database.query('drop trigger fail on metering.usage_notes; drop function metering.fail')
  await take(usageEvent({ account }))
  await expectSumsOfRows([account])
})

/** Undoes the migration and the sums of accounts, as if only those before it had run. */
const BEFORE = `
  drop trigger count_usage on metering.ledger; drop trigger count_replacing_usage on metering.ledger;
  drop trigger count_replaced_usage on metering.ledger;
  drop function metering.note_usage; drop function metering.keep_key_totals; drop function metering.name_tags; drop function metering.minute_of;
  drop view metering.daily_usage, metering.usage_of_days, metering.usage_of_minutes, metering.usage_of_tags, metering.usage_in_all,
    metering.usage_of_accounts;
  drop table metering.usage_notes, metering.usage_by_day, metering.usage_by_minute, metering.usage_by_tag,
    metering.usage_of_organization, metering.tags, metering.key_windows, metering.usage_by_account;
  drop function metering.sum_up_accounts;
  alter table metering.ledger drop column kind, drop column is_project, drop column user_id, drop column end_user,
    drop column tags, drop column images;
  drop function metering.day_of`

const migration = (name: string) => readFile(`${import.meta.dirname}/migrations/${name}.sql`, 'utf8')

test('rows that are older than the sums are in them, also those of months that an operator dropped, and no row counts twice', async () => {
  await using older = await openLedger(postgres)
  const early = usageEvent({ requestId: requestIdAt(Date.parse('2031-05-05')) })
  const dropped = usageEvent({ account: early.account, startedAtMs: Date.parse('2024-12-24'), window: '2024-12' })
  const now = usageEvent({ account: 'recent', startedAtMs: Date.now(), window: new Date().toISOString().slice(0, 7) })
  await consumeUsage(older, [messageOf(early, usageEvent(), usageEvent({ modelAsked: 'svc-core' }), dropped, now)])
  await older.database.query(BEFORE)
  await older.database.query(await migration('002-daily-usage'))
  await older.database.query('drop table metering.ledger_2024_12')
  await older.database.query(await migration('010-usage'))
  await older.database.query(await migration('013-usage-of-accounts'))
  await consumeUsage(older, [messageOf(early, usageEvent())])
  const { createPartitions } = await import('./ledger.ts')
  await createPartitions(older.database, () => Date.parse('2031-05-05')).ensureAhead()
  const request = { account: early.account, from: '2024-12-01', to: '2025-01-31', groupBy: 'model' as const }
  expect(await readAccountUsage(older.database, request)).toMatchObject([
    { name: 'svc-fast', requests: 4, milliTokens: 600_000 },
    { name: 'svc-core', requests: 1, milliTokens: 150_000 },
  ])
  const { rows } = await older.database.query('select account, key_id, requests from metering.usage_by_minute')
  expect(rows).toContainEqual({ account: 'recent', key_id: 'key00001', requests: 1 })
  await sumUpNotes(older.database)
  for (const [relation, condition] of [
    ['usage_of_accounts', 'true'],
    ['usage_of_days', `kind not like 'tool:%'`],
  ]) {
    const sums = await older.database.query(
      `select account, day::text, sum(requests)::int as requests, sum(charge)::bigint as charge from metering.${relation}
       where account = $1 and ${condition} group by 1, 2 order by 1, 2`,
      [early.account],
    )
    expect(sums.rows).toEqual([
      { account: early.account, day: '2024-12-24', requests: 1, charge: 150_000 },
      { account: early.account, day: '2025-01-10', requests: 4, charge: 600_000 },
    ])
  }
})
