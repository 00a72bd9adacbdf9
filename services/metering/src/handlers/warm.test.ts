import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import type { Bus } from '@gateway/bus/port'
import { subjects, usageStream } from '@gateway/contracts/subjects'
import { openDatabase, type Database } from '@gateway/postgres/database'
import { createLogger } from '@gateway/telemetry/logger'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { recordingAdmission, type RecordingAdmission } from '../../test/ledger.ts'
import { WINDOW } from '../../test/usage-events.ts'
import { startMetering } from '../start.ts'

let postgres: PostgresServer
let running: AsyncDisposableStack
let bus: Bus
let database: Database
let queries: number
let admission: RecordingAdmission

beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  running = new AsyncDisposableStack()
  const { url } = running.use(await postgres.createDatabase())
  database = running.use(await openDatabase(url))
  const counted = database.withPlugin({
    transformQuery({ node }) {
      queries++
      return node
    },
    transformResult: async ({ result }) => result,
  })
  const hub = createMemoryHub({ streams: [usageStream] })
  bus = running.use(await openMemoryBus({ hub }))
  admission = recordingAdmission()
  const logger = createLogger({ service: 'metering', level: 'silent' })
  running.use(await startMetering({ bus, admission, databaseUrl: url, database: counted, logger }))
  queries = 0
})
afterEach(() => running.disposeAsync())

const warm = (account: string) =>
  bus.request(subjects.meteringWarm, Buffer.from(JSON.stringify({ account })), { timeoutMs: 10_000 })

const accountsNamed = (count: number) => Array.from({ length: count }, (_, index) => `acct${index}`)

const storeTotals = (accounts: string[], window: string, version: number) =>
  database.query(
    `insert into metering.windows (account, "window", milli_tokens, nano_usd, unit, unit_since, version)
     select account, $2, 70, 0, 'tokens', now(), $3 from unnest($1::text[]) as account`,
    [accounts, window, version],
  )

test('1,000 accounts that edges request at once take a few queries', async () => {
  const accounts = accountsNamed(1_000)
  await storeTotals(accounts.slice(0, 500), WINDOW, 3)
  queries = 0
  await Promise.all(accounts.map(warm))
  expect(accounts.map((account) => admission.total(account))).toEqual(
    accounts.map((_, index) => (index < 500 ? { settled: 70, version: 3 } : { settled: 0, version: 0 })),
  )
  expect(queries).toBeLessThan(20)
})

test('an account whose part of the store is away does not hold up another', async () => {
  const { warm: write } = admission
  admission.warm = async (total) => {
    if (total.account === 'lost') throw new Error('this part is away')
    return write.call(admission, total)
  }
  const [lost, found] = await Promise.allSettled([warm('lost'), warm('found')])
  expect([lost.status, found.status]).toEqual(['rejected', 'fulfilled'])
})

test('the store hears of totals of later months, by which it knows that such a month does not begin with nothing', async () => {
  await storeTotals(['early'], WINDOW, 2)
  await storeTotals(['early'], '2025-02', 4)
  await warm('early')
  expect(admission.reported).toEqual([{ account: 'early', window: '2025-02', settled: 70, version: 4, included: [] }])
})
