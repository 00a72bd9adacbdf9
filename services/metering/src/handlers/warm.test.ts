/**
 * The unit of a window's total follows the account's plan by the number of the plan's change, whatever clocks say.
 */

import { startPostgres, type PostgresServer } from '@gateway/testing/servers'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openLedger, type TestLedger } from '../../test/ledger.ts'
import { messageOf, usageEvent } from '../../test/usage-events.ts'
import { consumeUsage } from '../consumers/usage.ts'
import { warm } from './warm.ts'

const ACCOUNT = usageEvent().account
/** 1.5x: 100 tokens cost 150,000 milli-tokens, or 450,000 nano-dollars. */
const [IN_TOKENS, IN_DOLLARS] = [150_000, 450_000]
const HOUR_MS = 3_600_000

let postgres: PostgresServer
let ledger: TestLedger
beforeAll(async () => void (postgres = await startPostgres()), 60_000)
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => void (ledger = await openLedger(postgres)))
afterEach(() => ledger[Symbol.asyncDispose]())

const clocks = [
  ['an hour ahead', HOUR_MS],
  ['an hour behind', -HOUR_MS],
] as const

function inTokens(planVersion: number, startedAtMs = Date.now()) {
  return usageEvent({ plan: 'free', unit: 'tokens', startedAtMs, ...{ planVersion } })
}

function inDollars(planVersion: number, startedAtMs = Date.now()) {
  const price = { kind: 'base', nanoUsdPerKiloToken: 4_500_000 } as const
  return usageEvent({ plan: 'payg', unit: 'usd', price, startedAtMs, ...{ planVersion } })
}

const record = (event: ReturnType<typeof usageEvent>) => consumeUsage(ledger, [messageOf(event)])
const changePlan = (unit: 'tokens' | 'usd', planVersion: number) =>
  warm(ledger, { account: ACCOUNT, unit, planVersion })
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
  'a report of the new plan, of an edge whose clock is %s, brings its unit before metering was told of the change',
  async (_, aheadMs) => {
    await record(inTokens(1))
    await record(inDollars(2, Date.now() + aheadMs))
    expect(settled()).toBe(IN_DOLLARS)
    await changePlan('usd', 2)
    await record(inTokens(1, Date.now() + HOUR_MS))
    expect(settled()).toBe(IN_DOLLARS)
  },
)

test('a change of plan that metering is told of late, or twice, does not undo a later one', async () => {
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

test('each unit keeps what was charged in it, and nothing is converted', async () => {
  await record(inTokens(1))
  await changePlan('usd', 2)
  await record(inDollars(2))
  await record(inTokens(1))
  const { rows } = await ledger.database.query('select milli_tokens, nano_usd from metering.windows')
  expect(rows).toEqual([{ milli_tokens: 2 * IN_TOKENS, nano_usd: IN_DOLLARS }])
  expect(settled()).toBe(IN_DOLLARS)
})
