import fc from 'fast-check'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLedger, type TestLedger } from '../../test/ledger.ts'
import { messageOf, requestIdAt, usageEvent } from '../../test/usage-events.ts'
import { consumeUsage } from '../consumers/usage.ts'
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
const take = (...events: UsageEvent[]) => consumeUsage(ledger, [messageOf(...events)])
const DAYS = { from: '2024-12-01', to: '2025-12-31' }
const used = (account: string, groupBy: 'session' | 'agent', session?: string) =>
  readAccountUsage(ledger.database, { account, groupBy, session, ...DAYS })
const cached = (event: UsageEvent, cachedTokens: number): UsageEvent => {
  return { ...event, usage: { ...event.usage, cachedTokens } }
}

test('usage is grouped by session and by agent, with the tokens that a cache had, the dearest first', async () => {
  const account = newAccount()
  await take(
    cached(usageEvent({ account, sessionId: 'one', tokens: 200 }), 100),
    usageEvent({ account, sessionId: 'one', agentId: 'a', parentAgentId: 'b', tokens: 50 }),
    usageEvent({ account, sessionId: 'two', tokens: 300 }),
    // Of no session.
    usageEvent({ account, tokens: 500 }),
    usageEvent({ account: newAccount(), sessionId: 'one', tokens: 900 }),
  )
  expect(await used(account, 'session')).toMatchObject([
    { name: 'two', requests: 1, promptTokens: 290, cachedTokens: 0 },
    { name: 'one', requests: 2, promptTokens: 230, cachedTokens: 100 },
  ])
  expect(await used(account, 'agent', 'one')).toMatchObject([
    { name: 'main', requests: 1, promptTokens: 190, cachedTokens: 100 },
    { name: 'a', requests: 1, promptTokens: 40 },
  ])
  expect(await used(account, 'session', 'two')).toMatchObject([{ name: 'two' }])
  expect(await used(account, 'session', 'three')).toEqual([])
  const { rows } = await ledger.database.query(
    'select session_id, agent_id, parent_agent_id from metering.ledger where account = $1 and agent_id is not null',
    [account],
  )
  expect(rows).toEqual([{ session_id: 'one', agent_id: 'a', parent_agent_id: 'b' }])
})

test('a session that only the edge reports stays when it replaces the report of a router', async () => {
  const account = newAccount()
  const fromRouter = usageEvent({ account, reporter: 'router', tokens: 40 })
  await take(fromRouter)
  expect(await used(account, 'session')).toEqual([])
  await take({ ...usageEvent({ account, sessionId: 'one' }), requestId: fromRouter.requestId })
  expect(await used(account, 'session')).toMatchObject([{ name: 'one', requests: 1, promptTokens: 90 }])
})

/** An auditor's sums of the rows alone. */
const FROM_ROWS = `
  select account, session_id, agent_id, day, unit, count(*) as requests, sum(prompt_tokens)::bigint as prompt_tokens,
    sum(completion_tokens)::bigint as completion_tokens, sum(cached_tokens)::bigint as cached_tokens,
    sum(charge)::bigint as charge
  from (
    select account, session_id, coalesce(agent_id, '') as agent_id, metering.day_of(started_at, "window") as day, unit,
      prompt_tokens, completion_tokens, cached_tokens, charge
    from metering.ledger where account = any($1) and session_id is not null
  ) as row
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5`
const KEPT = `
  select account, session_id, agent_id, day, unit, requests, prompt_tokens, completion_tokens, cached_tokens, charge
  from metering.session_usage where account = any($1) and requests <> 0 order by 1, 2, 3, 4, 5`

const report = fc.record({
  request: fc.nat({ max: 11 }),
  account: fc.nat({ max: 1 }),
  reporter: fc.constantFrom('edge' as const, 'router' as const),
  tokens: fc.integer({ min: 10, max: 500 }),
  cachedTokens: fc.nat({ max: 10 }),
  sessionId: fc.constantFrom(undefined, 'one', 'two'),
  agentId: fc.constantFrom(undefined, 'a'),
  unit: fc.constantFrom('tokens' as const, 'usd' as const),
  day: fc.integer({ min: -2, max: 33 }),
})

test('after any reports, repeated, replaced and in any order, the sums of sessions are those of the rows', async () => {
  const run = fc.asyncProperty(
    fc.array(fc.array(report, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 8 }),
    async (batches) => {
      const names = [newAccount(), newAccount()]
      const ids = Array.from({ length: 12 }, () => requestIdAt(Date.parse('2025-01-10T12:00:00Z')))
      const messages = batches.map((batch) =>
        messageOf(
          ...batch.map(({ request, account, tokens, cachedTokens, day, ...rest }) => {
            const event = usageEvent({ ...rest, tokens, startedAtMs: Date.parse('2025-01-01') + day * 86_400_000 })
            return { ...cached(event, cachedTokens), requestId: ids[request]!, account: names[account]! }
          }),
        ),
      )
      await Promise.all(messages.map((message) => consumeUsage(ledger, [message])))
      await consumeUsage(ledger, messages.toReversed())
      const { rows: fromRows } = await ledger.database.query(FROM_ROWS, [names])
      const { rows: kept } = await ledger.database.query(KEPT, [names])
      expect(kept).toEqual(fromRows)
    },
  )
  await fc.assert(run, { numRuns: 25 })
}, 120_000)
