import { setTimeout as sleep } from 'node:timers/promises'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { parseKey } from '@gateway/contracts/api-key'
import { accountThreshold, type AccountThreshold } from '@gateway/contracts/quota-status'
import { accountStream, subjects } from '@gateway/contracts/subjects'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openKeysService, type TestKeys, minted } from '../test/keys-service.ts'
import { call } from '../test/projects.ts'
import { announceThresholds, recordQuotaStatus } from './thresholds.ts'
import { setOverage, topUp } from './administration/bus-commands.ts'

const OWNER = { issuer: 'https://id.example', subject: 'alice' }
const WINDOW = new Date().toISOString().slice(0, 7)

let postgres: PostgresServer
let keys: TestKeys
let running: AsyncDisposableStack
let reported: AccountThreshold[]
let account: string
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  running = new AsyncDisposableStack()
  keys = running.use(await openKeysService(postgres))
  account = parseKey((await minted(keys, { owner: OWNER })).key)!.accountTag
  reported = []
})
afterEach(() => running.disposeAsync())

/** A bus whose operator can be away. */
async function announce(): Promise<AsyncDisposable> {
  const announcing = new AsyncDisposableStack()
  const hub = createMemoryHub({ streams: [{ ...accountStream, consumers: ['operator'] }] })
  const bus = announcing.use(await openMemoryBus({ hub }))
  await bus.durable.consume({
    stream: accountStream.name,
    subject: subjects.accountThreshold,
    consumer: 'operator',
    maxBatch: 10,
    handler: async (batch) => {
      reported.push(...batch.map(({ payload }) => accountThreshold.parse(JSON.parse(Buffer.from(payload).toString()))))
    },
  })
  announcing.use(announceThresholds({ ...keys, bus }))
  return announcing
}

const allowance = () => keys.config.current.plans.find((plan) => plan.default)!.limit
const used = (share: number, window = WINDOW) =>
  recordQuotaStatus(keys, {
    totals: [{ account, window, milliTokens: Math.ceil(allowance() * share * 1_000), nanoUsd: 0 }],
  })
const percents = () => reported.map(({ percent }) => percent)

test('operators learn once that an account reaches 80 % and once that it reaches all of its allowance, however often metering reports it', async () => {
  running.use(await announce())
  await used(0.7)
  await Promise.all(Array.from({ length: 20 }, () => used(0.8)))
  await expect.poll(() => percents()).toEqual([80])
  await Promise.all(Array.from({ length: 20 }, () => used(1)))
  await expect.poll(() => percents()).toEqual([80, 100])
  expect(reported[1]).toMatchObject({
    ...{ id: `${account}.${WINDOW}.100`, account, kind: 'developer', ...OWNER, window: WINDOW },
    ...{ unit: 'tokens', used: allowance(), limit: allowance() },
  })
  await used(0.8, '2020-01')
  await expect.poll(() => percents()).toEqual([80, 100, 80])
})

test('of one account 80 % is stored before all of it, however many processes publish', async () => {
  await used(1)
  const stored: number[] = []
  const bus = running.use(await openMemoryBus({ hub: createMemoryHub() }))
  const durable = {
    ...bus.durable,
    async publish(_subject: string, payload: Uint8Array) {
      const { percent } = accountThreshold.parse(JSON.parse(Buffer.from(payload).toString()))
      if (percent === 80) await sleep(200)
      stored.push(percent)
    },
  }
  const slow = Object.create(bus, { durable: { value: durable } }) as typeof bus
  for (let process = 0; process < 3; process++) running.use(announceThresholds({ ...keys, bus: slow }))
  await expect.poll(() => stored).toEqual([80, 100])
})

test('the next process publishes a noted threshold', async () => {
  await used(1)
  {
    const withoutStream = running.use(await openMemoryBus({ hub: createMemoryHub() }))
    await using _failing = announceThresholds({ ...keys, bus: withoutStream })
  }
  running.use(await announce())
  await expect.poll(() => percents()).toEqual([80, 100])
})

test('a top-up raises the bar', async () => {
  running.use(await announce())
  await topUp(keys, { id: crypto.randomUUID(), subject: 'alice', amount: allowance() })
  await used(1)
  await used(1.6)
  await expect.poll(() => percents()).toEqual([80])
  expect(reported[0]).toMatchObject({ limit: 2 * allowance(), used: 1.6 * allowance() })
})

test('an account on a plan that the config no longer has, and one that does not exist, pass nothing', async () => {
  await keys.database.query("update keys.accounts set plan = 'retired'")
  await used(1)
  await recordQuotaStatus(keys, { totals: [{ account: 'nobody00', window: WINDOW, milliTokens: 1e15, nanoUsd: 0 }] })
  const { rows } = await keys.database.query('select 1 from keys.thresholds')
  expect(rows).toEqual([])
})

const share = async (project_id: string, amount: number) => {
  const account = project_id.slice('proj_'.length)
  await recordQuotaStatus(keys, { totals: [{ account, window: WINDOW, milliTokens: amount * 1_000, nanoUsd: 0 }] })
}

test.each([
  ['below the allowance, is the limit', { allowance: 1_000, overage: false }, 1_000],
  ['above the allowance, is not reached', { allowance: 2_000_000, overage: false }, 1_000_000],
  ['above the allowance, is the limit where overage is on', { allowance: 2_000_000, overage: true }, 2_000_000],
])('the hard limit of a project, %s', async (_which, { allowance, overage }, limit) => {
  running.use(await announce())
  const { id: project_id } = await call(keys, 'projects.create', { name: 'search', plan: 'free' })
  await call(keys, 'spendLimit.update', { project_id, allowance })
  await setOverage(keys, { subject: project_id.slice('proj_'.length), overage })
  await share(project_id, limit * 0.8 - 1)
  await share(project_id, limit * 0.8)
  await expect.poll(() => percents()).toEqual([80])
  await share(project_id, limit)
  await expect.poll(() => percents()).toEqual([80, 100])
  expect(reported[1]).toMatchObject({ kind: 'project', used: limit, limit, unit: 'tokens' })
})
