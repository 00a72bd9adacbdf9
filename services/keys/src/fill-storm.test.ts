/**
 * The admission store has forgotten everything, and all edges send requests at once.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { openMemoryAdmission } from '@gateway/admission/memory'
import type { Admission } from '@gateway/admission/port'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import type { Bus } from '@gateway/bus/port'
import { fillReply, type FillReply } from '@gateway/contracts/keys-api'
import { subjects } from '@gateway/contracts/subjects'
import { openDatabase, type Database } from '@gateway/postgres/database'
import { openConfigSource } from '@gateway/config/config-source'
import { createLogger } from '@gateway/telemetry/logger'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import type { Kysely, Transaction } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { MASTER_SECRET } from '../test/keys-service.ts'
import type { KeysTables } from './db/tables.ts'
import { startKeys } from './start.ts'

const OWNER = { issuer: 'https://id.example', subject: 'alice' }

let postgres: PostgresServer
let running: AsyncDisposableStack
let bus: Bus
let database: Database
let load: DatabaseLoad
let store: ForgetfulStore

beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  running = new AsyncDisposableStack()
  const { url } = running.use(await postgres.createDatabase())
  database = running.use(await openDatabase(url))
  const logger = createLogger({ service: 'keys', level: 'silent' })
  const config = running.use(await openConfigSource({ logger }))
  bus = running.use(await openMemoryBus({ hub: createMemoryHub() }))
  store = forgetfulStore()
  load = watchLoad(database)
  const databases = { databaseUrl: url, database: load.database, urgent: database }
  const parts = { bus, ...databases, logger, config, admission: store.admission }
  running.use(await startKeys({ ...parts, masterSecret: MASTER_SECRET }))
})
afterEach(() => running.disposeAsync())

interface DatabaseLoad {
  database: Kysely<KeysTables>
  queries: number
  /** The most at once. */
  peak: number
}

/** Marks all that a transaction waits for. The service's own rounds begin some, too. */
const insideTransaction = new AsyncLocalStorage<true>()

/** Counts the queries of fills. */
function watchLoad(inner: Kysely<KeysTables>): DatabaseLoad {
  let busy = 0
  const database = inner.withPlugin({
    transformQuery({ node }) {
      watched.queries++
      watched.peak = Math.max(watched.peak, ++busy)
      return node
    },
    async transformResult({ result }) {
      busy--
      return result
    },
  })
  const begin = database.transaction.bind(database)
  const execute = <Result>(work: (transaction: Transaction<KeysTables>) => Promise<Result>) =>
    begin().execute((transaction) => insideTransaction.run(true, () => work(transaction)))
  const counted = Object.assign(database, { transaction: () => ({ execute }) }) as unknown as Kysely<KeysTables>
  const watched: DatabaseLoad = { queries: 0, peak: 0, database: counted }
  return watched
}

interface ForgetfulStore {
  admission: Admission
  fills: number
  /** Fills for whose end a transaction waited. */
  heldMeanwhile: number
  /** Stands between each fill and the store. */
  before: (fill: Parameters<Admission['fill']>[0]) => Promise<void>
  forget(): void
}

function forgetfulStore(): ForgetfulStore {
  let inner = openMemoryAdmission()
  const own: ForgetfulStore = {
    fills: 0,
    heldMeanwhile: 0,
    before: () => delay(5).then(() => {}),
    forget: () => void (inner = openMemoryAdmission()),
    admission: new Proxy(inner, {
      get: (_, name: keyof Admission) => {
        if (name !== 'fill') return inner[name]
        return async (facts: Parameters<Admission['fill']>[0]) => {
          own.fills++
          if (insideTransaction.getStore()) own.heldMeanwhile++
          await own.before(facts)
          return inner.fill(facts)
        }
      },
    }),
  }
  return own
}

const hashOf = (account: string) => createHash('sha256').update(account).digest()

async function storeAccounts(count: number): Promise<string[]> {
  const accounts = Array.from({ length: count }, (_, index) => `acct${String(index).padStart(4, '0')}`)
  await database.query(
    `insert into keys.accounts (tag, kind, issuer, subject, plan)
     select tag, 'developer', 'https://id.example', tag, 'free' from unnest($1::text[]) as tag`,
    [accounts],
  )
  await database.query(
    `insert into keys.keys (key_id, account, hash, sealed, master_key_id, version)
     select account, account, hash, '\\x00', 'none', 1 from unnest($1::text[], $2::bytea[]) as key (account, hash)`,
    [accounts, accounts.map(hashOf)],
  )
  return accounts
}

async function request(subject: string, question: object): Promise<unknown> {
  const reply = await bus.request(subject, Buffer.from(JSON.stringify(question)), { timeoutMs: 10_000 })
  return JSON.parse(Buffer.from(reply).toString())
}

async function fill(account: string, keyHash = hashOf(account).toString('base64url')): Promise<FillReply> {
  return fillReply.parse(await request(subjects.keysFill, { account, keyHash }))
}

const stateOf = (account: string) =>
  store.admission.authenticate({ account, keyHash: hashOf(account).toString('base64url') })

test('1,000 accounts at once take a few queries, two at a time, and no transaction waits for the store', async () => {
  const accounts = await storeAccounts(1_000)
  load.queries = load.peak = 0
  const replies = await Promise.all(accounts.map((account) => fill(account)))
  expect(replies).toEqual(accounts.map(() => ({ kind: 'filled', plan: 'free' })))
  expect(new Set((await Promise.all(accounts.map(stateOf))).map(({ kind }) => kind))).toEqual(new Set(['active']))
  expect(store.fills).toBe(1_000)
  expect(store.heldMeanwhile).toBe(0)
  // Announcing looks into the outbox meanwhile.
  expect(load.peak).toBeLessThanOrEqual(3)
  expect(load.queries).toBeLessThan(40)
})

test('an account that 1,000 edges request at once is written once a batch', async () => {
  const [account] = (await storeAccounts(1)) as [string]
  const replies = await Promise.all(Array.from({ length: 1_000 }, () => fill(account)))
  expect(new Set(replies.map(({ kind }) => kind))).toEqual(new Set(['filled']))
  // Two look-ups let one through each, and 998 more are four batches.
  expect(store.fills).toBeLessThanOrEqual(6)
})

test('made-up keys share one query, and nothing is written for them', async () => {
  const [account] = (await storeAccounts(1)) as [string]
  load.queries = 0
  const madeUp = Array.from({ length: 200 }, (_, index) =>
    fill(account, hashOf(`made up ${index}`).toString('base64url')),
  )
  expect(new Set((await Promise.all(madeUp)).map(({ kind }) => kind))).toEqual(new Set(['unknown']))
  expect(store.fills).toBe(0)
  expect(load.queries).toBeLessThan(10)
})

test('an account whose part of the store is away does not hold up another', async () => {
  const [lost, found] = (await storeAccounts(2)) as [string, string]
  store.before = async ({ account }) => {
    if (account === lost) throw new Error('this part is away')
  }
  const [first, second] = await Promise.allSettled([fill(lost), fill(found)])
  expect([first.status, second.status]).toEqual(['rejected', 'fulfilled'])
})

test.each([
  ['remembers the revoke', () => {}],
  ['has forgotten the revoke', () => store.forget()],
])(
  'a fill that was under way when its key was revoked does not bring it back, where the store %s',
  async (_, trouble) => {
    const minted = (await request(subjects.keysMint, { owner: OWNER })) as { key: string }
    const keyHash = createHash('sha256').update(minted.key).digest('base64url')
    const { rows } = await database.query<{ account: string }>('select account from keys.keys')
    const { account } = rows[0]!

    const [arrived, revoked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let isFirst = true
    store.before = async () => {
      if (!isFirst) return
      isFirst = false
      arrived.resolve()
      await revoked.promise
    }
    const filling = fill(account, keyHash)
    await arrived.promise
    await request(subjects.keysRevoke, { owner: OWNER, keyHash })
    trouble()
    revoked.resolve()
    await filling
    expect(await store.admission.authenticate({ account, keyHash })).toEqual({ kind: 'deny' })
  },
)

test('the store learns of top-ups in a later month, and requests a fill when that month begins', async () => {
  const [account] = (await storeAccounts(1)) as [string]
  const reported: boolean[] = []
  store.before = async ({ moreLater = false }) => void reported.push(moreLater)
  await fill(account)
  await database.query(
    `insert into keys.top_ups (id, account, "window", unit, amount)
     values (gen_random_uuid(), $1, '2999-01', 'tokens', 5)`,
    [account],
  )
  await fill(account)
  expect(reported).toEqual([false, true])
})
