import type { UsageEvent } from '@gateway/contracts/usage-event'
import { type PostgresServer, startPostgres } from '@gateway/servers/start'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLedger, type TestLedger } from '../../test/ledger.ts'
import { IN_WINDOW_MS, messageOf, requestIdAt, usageEvent, WINDOW } from '../../test/usage-events.ts'
import { consumeUsage } from '../consumers/usage.ts'

let postgres: PostgresServer
let ledger: TestLedger
beforeAll(async () => {
  postgres = await startPostgres()
  ledger = await openLedger(postgres)
})
afterAll(async () => {
  await ledger?.[Symbol.asyncDispose]()
  await postgres?.[Symbol.asyncDispose]()
})

const HOUR_MS = 3_600_000
let accounts = 0
const newAccount = () => `claim${++accounts}`

/** A run whose edge was lost: its router reports the generated tokens. */
const lostRun = (account: string, given: Partial<UsageEvent> & { tokens?: number } = {}) =>
  usageEvent({ account, claim: 'the claim', reporter: 'router', outcome: 'edge_lost', delivered: false, ...given })
const deliveredRun = (account: string, given: Partial<UsageEvent> & { tokens?: number } = {}) =>
  usageEvent({ account, claim: 'the claim', ...given })

const consume = (...events: UsageEvent[]) => consumeUsage(ledger, [messageOf(...events)])

interface Row {
  id: string
  charge: number
  voided_by: string | null
  voided_charge: number | null
}

async function chargesOf(account: string): Promise<Record<string, number>> {
  const { rows } = await ledger.database.query<Row>(
    'select request_id::text as id, charge from metering.ledger where account = $1',
    [account],
  )
  return Object.fromEntries(rows.map(({ id, charge }) => [id, charge]))
}

async function voidsOf(account: string): Promise<Record<string, { by: string; charge: number }>> {
  const { rows } = await ledger.database.query<Row>(
    `select request_id::text as id, voided_by, voided_charge from metering.ledger
     where account = $1 and voided_by is not null`,
    [account],
  )
  return Object.fromEntries(
    rows.map(({ id, voided_by, voided_charge }) => [id, { by: voided_by!, charge: voided_charge! }]),
  )
}

/** Row by row, the window's total, the days and the admission store say the same. */
async function expectAgreement(account: string): Promise<void> {
  const { sum, total } = await ledger.audit(account)
  expect(total).toBe(sum)
  expect(ledger.admission.total(account)?.settled ?? 0).toBe(sum)
  const { rows } = await ledger.database.query<{ days: number }>(
    'select coalesce(sum(charge), 0)::bigint as days from metering.daily_usage where account = $1',
    [account],
  )
  expect(rows[0]!.days).toBe(sum)
}

test.each(['before', 'after', 'beside'])(
  'a run that lost its edge costs nothing once another run of its claim was delivered, reported %s it',
  async (when) => {
    const account = newAccount()
    const lost = lostRun(account, { tokens: 40 })
    const delivered = deliveredRun(account)
    if (when === 'beside') await consume(lost, delivered)
    else for (const event of when === 'before' ? [lost, delivered] : [delivered, lost]) await consume(event)
    expect(await chargesOf(account)).toEqual({ [lost.requestId]: 0, [delivered.requestId]: 150_000 })
    expect(await voidsOf(account)).toEqual({ [lost.requestId]: { by: delivered.requestId, charge: 60_000 } })
    await expectAgreement(account)
  },
)

test('a run that was delivered all the same, as its edge says late, is charged', async () => {
  const account = newAccount()
  const lost = lostRun(account, { tokens: 40 })
  await consume(lost, deliveredRun(account))
  await consume({ ...deliveredRun(account, { tokens: 60 }), requestId: lost.requestId })
  expect((await chargesOf(account))[lost.requestId]).toBe(90_000)
  expect(await voidsOf(account)).toEqual({})
  await expectAgreement(account)
})

test.each<[string, Partial<UsageEvent>]>([
  ['that its client left', { reporter: 'edge', outcome: 'client_gone' }],
  ['whose backend failed', { reporter: 'edge', outcome: 'backend_failed' }],
  ['whose key died', { reporter: 'edge', outcome: 'cut' }],
  ['whose router was lost', { reporter: 'edge', outcome: 'router_lost' }],
  ['that was delivered', { reporter: 'edge', outcome: 'completed', delivered: true }],
  ['of another claim', { claim: 'another claim' }],
  ['without a claim', { claim: undefined }],
  ['of another account', { account: 'somebody' }],
  ['of the day before', { startedAtMs: IN_WINDOW_MS - 24 * HOUR_MS - 1 }],
])('a run %s is charged beside another of its claim', async (_, given) => {
  const account = newAccount()
  const run = lostRun(account, { tokens: 40, ...given })
  await consume(run)
  await consume(deliveredRun(account))
  await consume(run)
  expect((await chargesOf(run.account))[run.requestId]).toBe(60_000)
  await expectAgreement(account)
})

test('a run of the month before moves the total of its month, and the store receives both totals', async () => {
  const account = newAccount()
  const lost = lostRun(account, { window: '2024-12', startedAtMs: Date.parse('2024-12-31T23:59:59Z'), tokens: 40 })
  await consume(lost)
  await consume(deliveredRun(account, { startedAtMs: Date.parse('2025-01-01T00:00:09Z') }))
  const { rows } = await ledger.database.query(
    `select "window", milli_tokens from metering.windows where account = $1 order by "window"`,
    [account],
  )
  expect(rows).toEqual([
    { window: '2024-12', milli_tokens: 0 },
    { window: WINDOW, milli_tokens: 150_000 },
  ])
  const reported = ledger.admission.reported.filter((total) => total.account === account)
  expect(reported.at(-1)).toMatchObject({ window: '2024-12', settled: 0, included: [] })
})

test('a store that was away while a run became void learns of it from the repetition', async () => {
  const account = newAccount()
  const [lost, delivered] = [lostRun(account, { tokens: 40 }), deliveredRun(account)]
  await consume(lost)
  const killed = { ...ledger, settlement: { ...ledger.settlement, settle: () => Promise.reject(new Error('killed')) } }
  await expect(consumeUsage(killed, [messageOf(delivered)])).rejects.toThrow('killed')
  await consume(delivered)
  await expectAgreement(account)
})

type Ending = 'delivered' | 'taken over' | 'left' | 'silent'

/** One run under a claim: the reports of its edge, if any, and of its routers. */
interface Run {
  claim: number
  startedAfterHours: number
  edge: Ending
  routers: number[]
}

const runs = fc.array(
  fc.record<Run>({
    claim: fc.integer({ min: 0, max: 1 }),
    startedAfterHours: fc.constantFrom(0, 1, 20, 30, 50),
    edge: fc.constantFrom<Ending[]>('delivered', 'delivered', 'taken over', 'left', 'silent', 'silent'),
    routers: fc.array(fc.integer({ min: 11, max: 99 }), { maxLength: 2 }),
  }),
  { minLength: 2, maxLength: 5 },
)

/** The reports that come, again and again, in batches; a failed batch comes once more. */
const deliveries = fc.array(
  fc.record({
    reports: fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
    dies: fc.boolean(),
    beside: fc.boolean(),
  }),
  { maxLength: 8 },
)

const EDGE_TOKENS = 70
const CHARGE_OF_TOKEN = 1_500

function reportsOf(account: string, { claim, startedAfterHours, edge, routers }: Run): UsageEvent[] {
  const startedAtMs = IN_WINDOW_MS + startedAfterHours * HOUR_MS
  const run = { account, claim: `claim ${claim}`, startedAtMs, requestId: requestIdAt(startedAtMs) }
  const reports = routers.map((tokens) => lostRun(account, { ...run, tokens }))
  if (edge === 'delivered') reports.push(deliveredRun(account, { ...run, tokens: EDGE_TOKENS }))
  if (edge === 'taken over') reports.push({ ...lostRun(account, { ...run, tokens: EDGE_TOKENS }), reporter: 'edge' })
  if (edge === 'left') {
    const left = { outcome: 'client_gone', delivered: false } as const
    reports.push(deliveredRun(account, { ...run, tokens: EDGE_TOKENS, ...left }))
  }
  return reports
}

/** The final charge of each request, by the rule alone. */
function expectedOf(reportsByRun: UsageEvent[][]) {
  const quotaStatus = reportsByRun
    .filter((reports) => reports.length > 0)
    .map((reports) => {
      const ofEdge = reports.find(({ reporter }) => reporter === 'edge')
      const tokensOf = ({ usage }: UsageEvent) => usage.promptTokens + usage.completionTokens
      return ofEdge ?? reports.toSorted((one, other) => tokensOf(other) - tokensOf(one))[0]!
    })
  const charges: Record<string, number> = {}
  const voids: Record<string, { by: string; charge: number }> = {}
  for (const { requestId, usage, outcome, claim, startedAtMs } of quotaStatus) {
    const charge = (usage.promptTokens + usage.completionTokens) * CHARGE_OF_TOKEN
    const replacing = quotaStatus
      .filter((other) => other.delivered && other.claim === claim)
      .filter((other) => Math.abs(other.startedAtMs - startedAtMs) <= 24 * HOUR_MS)
      .map((other) => other.requestId)
      .toSorted()[0]
    const isVoid = outcome === 'edge_lost' && replacing !== undefined
    charges[requestId] = isVoid ? 0 : charge
    if (isVoid) voids[requestId] = { by: replacing, charge }
  }
  return { charges, voids }
}

test('for reports in any order, repeated, and by several writers, each claim ends as its rows say', async () => {
  await fc.assert(
    fc.asyncProperty(runs, deliveries, fc.infiniteStream(fc.nat()), async (given, early, order) => {
      const account = newAccount()
      const reportsByRun = given.map((run) => reportsOf(account, run))
      const all = reportsByRun.flat()
      if (all.length === 0) return
      let beside: Promise<void>[] = []
      for (const { reports, dies, beside: isBeside } of early) {
        const batch = [messageOf(...reports.map((index) => all[index % all.length]!))]
        const failing = { ...ledger.settlement, settle: () => Promise.reject(new Error('killed')) }
        if (dies) await consumeUsage({ ...ledger, settlement: failing }, batch).catch(() => {})
        beside.push(consumeUsage(ledger, batch))
        if (!isBeside) {
          await Promise.all(beside)
          beside = []
        }
      }
      const shuffled = all.map((report) => ({ report, at: order.next().value }))
      shuffled.sort((one, other) => one.at - other.at)
      for (const { report } of shuffled) beside.push(consume(report))
      await Promise.all(beside)
      // A restarted service receives the unacknowledged messages again.
      for (const report of all) await consume(report)
      const { charges, voids } = expectedOf(reportsByRun)
      expect(await chargesOf(account)).toEqual(charges)
      expect(await voidsOf(account)).toEqual(voids)
      await expectAgreement(account)
    }),
    { numRuns: Number(process.env['CLAIM_RUNS'] ?? 60) },
  )
}, 120_000)
