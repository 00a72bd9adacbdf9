import { setTimeout as sleep } from 'node:timers/promises'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { spendAlertEvent, type SpendAlertEvent } from '@gateway/contracts/account-events'
import { accountStream, subjects } from '@gateway/contracts/subjects'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openKeysService, personCall, type TestKeys } from '../../test/keys-service.ts'
import { call, refusalOf } from '../../test/projects.ts'
import { mintKey } from '../handlers/developer-keys.ts'
import { publishEvents } from '../publish-events.ts'
import { recordQuotaStatus } from '../thresholds.ts'

const WINDOW = new Date().toISOString().slice(0, 7)
const CHANNEL = { type: 'email', recipients: ['search@example.org'] }
const NANO = 1_000_000_000

let postgres: PostgresServer
let keys: TestKeys
let running: AsyncDisposableStack
let reported: SpendAlertEvent[]
let project_id: string
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  running = new AsyncDisposableStack()
  keys = running.use(await openKeysService(postgres))
  reported = []
  project_id = await create('payg')
})
afterEach(() => running.disposeAsync())

const create = async (plan: string) => (await call(keys, 'projects.create', { name: 'search', plan })).id
const tagOf = (id: string) => id.slice('proj_'.length)
const alertAt = (threshold_amount: number, id = project_id) =>
  call(keys, 'projectSpendAlerts.create', { project_id: id, threshold_amount, notification_channel: CHANNEL })

function spend(usd: number, { of = project_id, window = WINDOW, tokens = 0, version = 0 } = {}) {
  const amounts = { milliTokens: tokens * 1_000, nanoUsd: Math.round(usd * NANO) }
  // Metering of a former release names no version.
  const total = { account: tagOf(of), window, ...amounts, ...(version > 0 && { version }) }
  return recordQuotaStatus(keys, { totals: [total] })
}

async function publish(): Promise<void> {
  const hub = createMemoryHub({ streams: [{ ...accountStream, consumers: ['operator'] }] })
  const bus = running.use(await openMemoryBus({ hub }))
  await bus.durable.consume({
    ...{ stream: accountStream.name, subject: subjects.accountSpendAlert, consumer: 'operator', maxBatch: 10 },
    handler: async (batch) => {
      reported.push(...batch.map(({ payload }) => spendAlertEvent.parse(JSON.parse(Buffer.from(payload).toString()))))
    },
  })
  running.use(publishEvents({ ...keys, bus }))
}
const passed = () => reported.map(({ alertId, threshold }) => ({ alertId, threshold }))

test('an alert of a project is reported once a month, at its threshold and not before', async () => {
  await publish()
  const { id } = await alertAt(5_000)
  await spend(49.999_999_999)
  await Promise.all(Array.from({ length: 10 }, () => spend(50)))
  await spend(80)
  await expect.poll(() => passed()).toEqual([{ alertId: id, threshold: 50 }])
  expect(reported[0]).toMatchObject({
    ...{ id: `${id}.${WINDOW}.usd.50`, scope: 'project', account: tagOf(project_id), projectName: 'search' },
    ...{ window: WINDOW, unit: 'usd', used: 50, recipients: CHANNEL.recipients, subjectPrefix: null },
  })
  await spend(51, { window: '2099-01' })
  await expect.poll(() => reported.map(({ window }) => window)).toEqual([WINDOW, '2099-01'])
})

test('a raised threshold is reported again in the same month, and an alert says nothing about months before it', async () => {
  const { id: alert_id } = await alertAt(1_000)
  await spend(12, { window: '2020-01' })
  await spend(12)
  const input = { project_id, alert_id, threshold_amount: 2_000, notification_channel: CHANNEL }
  await call(keys, 'projectSpendAlerts.update', input)
  await spend(21)
  await publish()
  await expect
    .poll(() => passed())
    .toEqual([
      { alertId: alert_id, threshold: 10 },
      { alertId: alert_id, threshold: 20 },
    ])
})

test('a plan that counts tokens has alerts at an allowance', async () => {
  const tokens = await create('free')
  const input = { project_id: tokens, allowance: 1_000, notification_channel: CHANNEL }
  const alert = await call(keys, 'projectSpendAlerts.create', input)
  expect(alert).toMatchObject({ threshold_amount: 0, allowance: 1_000 })
  await spend(0, { of: tokens, tokens: 999.999 })
  await spend(0, { of: tokens, tokens: 1_000 })
  await publish()
  await expect.poll(() => passed()).toEqual([{ alertId: alert.id, threshold: 1_000 }])
})

test('an alert of the organization counts all accounts together', async () => {
  const other = await create('payg')
  const input = { threshold_amount: 10_000, notification_channel: { ...CHANNEL, subject_prefix: '[gateway]' } }
  const { id } = await call(keys, 'spendAlerts.create', input)
  await spend(60)
  await spend(39.99, { of: other })
  await publish()
  await spend(40, { of: other })
  await expect.poll(() => passed()).toEqual([{ alertId: id, threshold: 100 }])
  expect(reported[0]).toMatchObject({ scope: 'organization', account: null, used: 100, subjectPrefix: '[gateway]' })
})

test('alerts are listed newest first, in pages that keep their place, and deleted once', async () => {
  const ids: string[] = []
  for (let cents = 1; cents <= 5; cents++) {
    ids.push((await alertAt(cents)).id)
    await sleep(2)
  }
  const newestFirst = ids.toReversed()
  const list = (more: object) => call(keys, 'projectSpendAlerts.list', { project_id, ...more })
  const first = await list({ limit: 2 })
  expect(first).toMatchObject({ has_more: true, first_id: newestFirst[0], last_id: newestFirst[1] })
  await call(keys, 'projectSpendAlerts.delete', { project_id, alert_id: newestFirst[1]! })
  const rest = await list({ limit: 3, after: newestFirst[1] })
  expect(rest.data.map(({ id }) => id)).toEqual(newestFirst.slice(2))
  expect(rest.has_more).toBe(false)
  expect((await list({ order: 'asc', limit: 1 })).data[0]!.id).toBe(newestFirst[4])
  expect((await list({ before: newestFirst[3], limit: 1 })).data[0]!.id).toBe(newestFirst[2])
  const gone = { project_id, alert_id: newestFirst[1]! }
  expect(await refusalOf(keys, 'projectSpendAlerts.delete', gone)).toBe('NOT_FOUND')
  expect(await refusalOf(keys, 'projectSpendAlerts.retrieve', gone)).toBe('NOT_FOUND')
})

test('an alert belongs to its project: another one does not show it', async () => {
  const { id: alert_id } = await alertAt(100)
  const other = await create('payg')
  expect(await refusalOf(keys, 'projectSpendAlerts.retrieve', { project_id: other, alert_id })).toBe('NOT_FOUND')
  expect(await refusalOf(keys, 'spendAlerts.retrieve', { alert_id })).toBe('NOT_FOUND')
  expect(await call(keys, 'projectSpendAlerts.retrieve', { project_id, alert_id })).toMatchObject({ id: alert_id })
})

test.each([
  ['no threshold', {}, 'threshold_amount'],
  ['a threshold in tokens alone, for a plan in dollars', { allowance: 5 }, 'threshold_amount'],
  ['part of a cent', { threshold_amount: 0.5 }, 'threshold_amount'],
  ['another currency', { threshold_amount: 5, currency: 'EUR' }, 'currency'],
  [
    'nobody to notify',
    { threshold_amount: 5, notification_channel: { type: 'email', recipients: [] } },
    'notification_channel.recipients',
  ],
  [
    'no address',
    { threshold_amount: 5, notification_channel: { type: 'email', recipients: ['x'] } },
    'notification_channel.recipients.0',
  ],
])('an alert with %s is refused and names the field', async (_what, change, param) => {
  const input = { project_id, notification_channel: CHANNEL, ...change }
  expect(await refusalOf(keys, 'projectSpendAlerts.create', input)).toBe(`VALIDATION_ERROR ${param}`)
})

test('the owner of a personal account has alerts of it, and alerts of the organization are for its owners', async () => {
  await mintKey(keys, { owner: { issuer: 'https://id.example', subject: 'alice' } })
  const alice = personCall({ subject: 'alice' })
  const personal = (await call(keys, 'projects.list', {}, alice)).data[0]!.id
  const input = { project_id: personal, allowance: 5, notification_channel: CHANNEL }
  expect(await call(keys, 'projectSpendAlerts.create', input, alice)).toMatchObject({ allowance: 5 })
  expect(await refusalOf(keys, 'spendAlerts.list', {}, alice)).toBe('FORBIDDEN')
})

test('a run that metering has voided counts in no alert and in no project, also behind a late report', async () => {
  const other = await create('payg')
  const { id } = await call(keys, 'spendAlerts.create', { threshold_amount: 6_000, notification_channel: CHANNEL })
  await spend(40, { version: 2 })
  await spend(30, { version: 3 })
  await spend(40, { version: 2 })
  await spend(25, { of: other, version: 1 })
  const { data } = await call(keys, 'projectViews.list', {})
  expect(data.find((one) => one.id === project_id)).toMatchObject({ spent: 30 })
  await publish()
  await spend(30, { of: other, version: 2 })
  await expect.poll(() => passed()).toEqual([{ alertId: id, threshold: 60 }])
  expect(reported[0]).toMatchObject({ used: 60 })
})

test('of the totals of an account the one of the latest version stands, in any order of their reports', async () => {
  const history = fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 5 })
  const ordered = history.chain((dollars) => {
    const versioned = dollars.map((usd, index) => ({ usd, version: index + 1 }))
    return fc.tuple(fc.constant(dollars), fc.shuffledSubarray(versioned, { minLength: versioned.length }))
  })
  await fc.assert(
    fc.asyncProperty(ordered, async ([dollars, reports]) => {
      await keys.database.query('truncate keys.spending, keys.organization_spending')
      await Promise.all(reports.map(({ usd, version }) => spend(usd, { version })))
      const { rows } = await keys.database.query<{ of: string; usd: number }>(`
        select 'account' as of, nano_usd::float8 / 1000000000 as usd from keys.spending
        union all select 'all', nano_usd::float8 / 1000000000 from keys.organization_spending order by 1`)
      const latest = dollars.at(-1)
      expect(rows.map(({ usd }) => usd)).toEqual([latest, latest])
    }),
    { numRuns: 20 },
  )
}, 120_000)

const totals = fc.array(
  fc.record({ account: fc.integer({ min: 0, max: 2 }), cents: fc.integer({ min: 0, max: 60 }) }),
  { minLength: 1, maxLength: 12 },
)

test('in any order of reports, an alert is an event exactly when the highest totals reach it', async () => {
  await fc.assert(
    fc.asyncProperty(
      totals,
      fc.uniqueArray(fc.integer({ min: 0, max: 150 }), { maxLength: 4 }),
      async (reports, thresholds) => {
        await keys.database.query('truncate keys.spend_alerts, keys.events, keys.spending, keys.organization_spending')
        const projects = [project_id, await create('payg'), await create('payg')]
        for (const threshold_amount of thresholds) {
          await alertAt(threshold_amount, projects[0])
          await call(keys, 'spendAlerts.create', { threshold_amount, notification_channel: CHANNEL })
        }
        await Promise.all(reports.map(({ account, cents }) => spend(cents / 100, { of: projects[account]! })))
        const highest = [0, 1, 2].map((account) => {
          return Math.max(-1, ...reports.filter((report) => report.account === account).map(({ cents }) => cents))
        })
        const sum = highest.reduce((all, one) => all + Math.max(0, one), 0)
        const { rows } = await keys.database.query<{ scope: string; cents: number }>(
          `select payload ->> 'scope' as scope, round((payload ->> 'threshold')::numeric * 100)::int as cents
         from keys.events where kind = 'spend_alert'`,
        )
        const reachedIn = (scope: string) =>
          rows
            .filter((row) => row.scope === scope)
            .map(({ cents }) => cents)
            .toSorted((a, b) => a - b)
        const upTo = (total: number) => thresholds.filter((threshold) => threshold <= total).toSorted((a, b) => a - b)
        expect(reachedIn('project')).toEqual(upTo(highest[0]!))
        expect(reachedIn('organization')).toEqual(upTo(sum))
      },
    ),
    { numRuns: 30 },
  )
}, 120_000)
