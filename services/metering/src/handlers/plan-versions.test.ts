/**
 * The unit of a window's total follows the account's plan by the number of the plan's change, and no clock.
 */

import type { WarmRequest } from '@gateway/contracts/metering-api'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openLedger, type TestLedger } from '../../test/ledger.ts'
import { messageOf, usageEvent } from '../../test/usage-events.ts'
import { consumeUsage } from '../consumers/usage.ts'
import { warmTogether } from './warm.ts'

const ACCOUNT = usageEvent().account
/** 1.5x: 100 tokens cost 150,000 milli-tokens, or 450,000 nano-dollars. */
const [IN_TOKENS, IN_DOLLARS] = [150_000, 450_000]
const HOUR_MS = 3_600_000

let postgres: PostgresServer
let ledger: TestLedger
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => void (ledger = await openLedger(postgres)))
afterEach(() => ledger[Symbol.asyncDispose]())

const clocks = [
  ['an hour ahead', HOUR_MS],
  ['an hour behind', -HOUR_MS],
] as const

function inTokens(planVersion: number, startedAtMs = Date.now()) {
  return usageEvent({ plan: 'free', unit: 'tokens', startedAtMs, planVersion })
}

function inDollars(planVersion: number, startedAtMs = Date.now()) {
  const price = { kind: 'base', nanoUsdPerKiloToken: 4_500_000 } as const
  return usageEvent({ plan: 'payg', unit: 'usd', price, startedAtMs, planVersion })
}

const changeUnit = (question: WarmRequest) => warmTogether(ledger)(question)
const record = (event: ReturnType<typeof usageEvent>) => consumeUsage(ledger, [messageOf(event)])
const changePlan = (unit: 'tokens' | 'usd', planVersion: number) => changeUnit({ account: ACCOUNT, unit, planVersion })
const settled = () => ledger.admission.total(ACCOUNT)?.settled

test.each(clocks)(
  'a late report of the former plan, of an edge whose clock is %s, leaves the total in the unit of the new one',
  async (_, aheadMs) => {
    await record(inDollars(1))
    await changePlan('tokens', 2)
    await record(inDollars(1, Date.now() + aheadMs))
    expect(settled()).toBe(0)
    await record(inTokens(2))
    expect(settled()).toBe(IN_TOKENS)
  },
)

test.each(clocks)(
  'a report of the new plan, of an edge whose clock is %s, brings its unit before metering learns of the change',
  async (_, aheadMs) => {
    await record(inTokens(1))
    await record(inDollars(2, Date.now() + aheadMs))
    expect(settled()).toBe(IN_DOLLARS)
    await changePlan('usd', 2)
    await record(inTokens(1, Date.now() + HOUR_MS))
    expect(settled()).toBe(IN_DOLLARS)
  },
)

test('a change of plan that metering receives late, or twice, does not undo a later one', async () => {
  await record(inTokens(1))
  await changePlan('usd', 2)
  await changePlan('tokens', 3)
  await changePlan('usd', 2)
  expect(settled()).toBe(IN_TOKENS)
})

test('a late report that is the first of its month does not bring back the unit of the former plan', async () => {
  await changePlan('tokens', 2)
  await record(inDollars(1))
  expect(settled()).toBe(0)
})

test('reports of one message count by their plans, in any order', async () => {
  for (const events of [
    [inTokens(1), inDollars(2)],
    [inDollars(4), inTokens(3)],
  ]) {
    await consumeUsage(ledger, [messageOf(...events)])
    const { rows } = await ledger.database.query('select unit, plan_version from metering.windows')
    expect(rows).toEqual([{ unit: 'usd', plan_version: Math.max(...events.map((event) => event.planVersion!)) }])
  }
})

test('processes of a former version, which number nothing, do not undo a numbered change', async () => {
  const { planVersion: _, ...unnumbered } = inDollars(0)
  await record(unnumbered)
  expect(settled()).toBe(IN_DOLLARS)
  await changePlan('tokens', 2)
  const { planVersion: __, ...late } = inDollars(0)
  await record(late)
  expect(settled()).toBe(0)
  await changeUnit({ account: ACCOUNT, unit: 'usd' })
  expect(settled()).toBe(2 * IN_DOLLARS)
})

test("a plan's own unit that the config has changed counts from the next report on", async () => {
  await record(inTokens(3))
  await record(inDollars(3))
  expect(settled()).toBe(IN_DOLLARS)
})

test('for late and repeated messages of any clock, the total is in the unit of the latest plan', async () => {
  /** Plans take turns: an odd number counts in tokens. */
  const unitOf = (planVersion: number) => (planVersion % 2 === 1 ? 'tokens' : 'usd')
  const step = fc.record({
    what: fc.constantFrom('report', 'report', 'report', 'change'),
    planVersion: fc.integer({ min: 1, max: 6 }),
    aheadMs: fc.integer({ min: -24 * HOUR_MS, max: 24 * HOUR_MS }),
    again: fc.boolean(),
  })
  let used = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const account = `acct${String(used++).padStart(4, '0')}`
      const spent = { tokens: 0, usd: 0 }
      let latest = 0
      for (const { what, planVersion, aheadMs, again } of steps) {
        const unit = unitOf(planVersion)
        const startedAtMs = Date.now() + aheadMs
        const event = { ...(unit === 'usd' ? inDollars : inTokens)(planVersion, startedAtMs), account }
        for (let sent = 0; sent < (again ? 2 : 1); sent++) {
          if (what === 'change') await changeUnit({ account, unit, planVersion })
          else await record(event)
        }
        if (what === 'report') spent[unit] += unit === 'usd' ? IN_DOLLARS : IN_TOKENS
        latest = Math.max(latest, planVersion)
        expect(ledger.admission.total(account)?.settled).toBe(spent[unitOf(latest)])
      }
    }),
    { numRuns: 60 },
  )
})

test('each unit keeps its own charges, and nothing is converted', async () => {
  await record(inTokens(1))
  await changePlan('usd', 2)
  await record(inDollars(2))
  await record(inTokens(1))
  const { rows } = await ledger.database.query('select milli_tokens, nano_usd from metering.windows')
  expect(rows).toEqual([{ milli_tokens: 2 * IN_TOKENS, nano_usd: IN_DOLLARS }])
  expect(settled()).toBe(IN_DOLLARS)
})
