import { limitsWith } from '@gateway/admission/limits-for-tests'
import { openMemoryAdmission } from '@gateway/admission/memory'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openLedger, type TestLedger } from '../../test/ledger.ts'
import { IN_WINDOW_MS, messageOf, usageEvent, WINDOW } from '../../test/usage-events.ts'
import { consumeUsage } from '../consumers/usage.ts'
import { reconcile, type ReconcileContext } from './reconcile.ts'

const { account } = usageEvent()
/** 1.5x: 100 tokens cost 150,000 milli-tokens. */
const CHARGE = 150_000
const LIMITS = limitsWith()

let postgres: PostgresServer
let ledger: TestLedger
let store: ReturnType<typeof openMemoryAdmission>
let context: ReconcileContext
let nowMs: number
/** The repairs in the audit log. */
let noted: unknown[]
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  nowMs = IN_WINDOW_MS
  ledger = await openLedger(postgres)
  store = openMemoryAdmission({ now: () => nowMs })
  noted = []
  context = {
    database: ledger.database,
    admission: store,
    now: () => nowMs,
    noteRepairs: async (repairs) =>
      void noted.push(...repairs.map(({ kind, store: held, truth }) => [kind, held, truth])),
  }
  await store.fill({
    account,
    version: 1,
    plan: 'free',
    overage: false,
    extra: 0,
    keys: [{ keyHash: 'k', version: 1, active: true }],
  })
  await store.warm({ account, window: WINDOW, settled: 0, version: 0 })
})
afterEach(() => ledger[Symbol.asyncDispose]())

async function differences(repair: boolean, accounts = [account]) {
  noted = []
  const { drifts } = await reconcile(context, { accounts, plans: [], repair }, 1)
  const repairable = drifts.filter(({ kind }) => kind !== 'unreported')
  expect(noted).toEqual(repair ? repairable.map(({ kind, store: held, truth }) => [kind, held, truth]) : [])
  return drifts
}
const kinds = async (repair: boolean) => (await differences(repair)).map(({ kind, repaired }) => [kind, repaired])
const record = (...events: ReturnType<typeof usageEvent>[]) => consumeUsage(ledger, [messageOf(...events)])
const totalOfStore = async () => (await store.inspect(account)).total

async function admit(requestId: string): Promise<void> {
  const request = { requestId, account, keyHash: 'k', planHint: 'free', planIncludesModel: true, limits: LIMITS }
  const { kind } = await store.admit({ ...request, usualTokens: 1, worstCharge: 500_000, leaseMs: 30_000 })
  expect(kind).toBe('allow')
}

test('a store that agrees, or that lacks the total, has no differences', async () => {
  expect(await differences(false, [account, 'nobody00'])).toEqual([])
})

test('reconcile finds a total that the store never received, writes it on request, and then agrees', async () => {
  await record(usageEvent())
  expect(await kinds(false)).toEqual([['total', false]])
  expect(await totalOfStore()).toEqual({ settled: 0, version: 0 })
  expect(await kinds(true)).toEqual([['total', true]])
  expect(await totalOfStore()).toMatchObject({ settled: CHARGE })
  expect(await kinds(false)).toEqual([])
})

test('a total that outran a restored ledger is put right, and later totals are taken again', async () => {
  await store.applyTotal({ account, window: WINDOW, settled: 9_000_000, version: 40, included: [] })
  expect(await kinds(true)).toEqual([['total', true]])
  expect(await totalOfStore()).toMatchObject({ settled: 0 })
  await record(usageEvent())
  await store.applyTotal(ledger.admission.reported.at(-1)!)
  expect(await totalOfStore()).toMatchObject({ settled: CHARGE })
  expect(await kinds(false)).toEqual([])
})

test('an ended request that the ledger has is counted once again', async () => {
  const event = usageEvent()
  await admit(event.requestId)
  await store.finish({ account, requestId: event.requestId, charge: CHARGE, tokens: 100 })
  await record(event)
  await store.applyTotal({ ...ledger.admission.reported.at(-1)!, included: [] })
  expect(await kinds(true)).toEqual([['pending', true]])
  expect(await store.inspect(account)).toMatchObject({ total: { settled: CHARGE }, ended: 0, requests: [] })
})

test('reconcile finds and releases a request that a dead edge left running', async () => {
  await admit('019443cc-0000-7000-8000-000000000001')
  nowMs += 31_000
  expect(await kinds(false)).toEqual([['lease', false]])
  expect(await kinds(true)).toEqual([['lease', true]])
  expect(await store.inspect(account)).toMatchObject({ running: 0, requests: [] })
})

test('a request that never came to the ledger stays pending, and is reported', async () => {
  const { requestId } = usageEvent()
  await admit(requestId)
  await store.finish({ account, requestId, charge: CHARGE, tokens: 100 })
  expect(await kinds(true)).toEqual([])
  nowMs += 3_700_000
  expect(await kinds(true)).toEqual([['unreported', false]])
  expect(await store.inspect(account)).toMatchObject({ ended: CHARGE })
})

test("a total in another unit than the account's plan is found, put right, and then agrees", async () => {
  const price = { kind: 'base', nanoUsdPerKiloToken: 4_500_000 } as const
  await record(usageEvent({ planVersion: 1 }), usageEvent({ unit: 'usd', plan: 'payg', price, planVersion: 9 }))
  await store.applyTotal(ledger.admission.reported.at(-1)!)
  expect(await totalOfStore()).toMatchObject({ settled: 450_000 })
  const inTokens = [{ account, unit: 'tokens' as const, planVersion: 5 }]
  const reconcileAccounts = async (repair: boolean) => {
    const { drifts } = await reconcile(context, { accounts: [account], plans: inTokens, repair }, 1)
    return drifts.map(({ kind, store: held, truth, repaired }) => [kind, held, truth, repaired])
  }
  const found = ['unit', 'total in usd (plan version 9)', 'plan in tokens (plan version 5)']
  expect(await reconcileAccounts(false)).toEqual([[...found, false]])
  expect(await reconcileAccounts(true)).toEqual([[...found, true]])
  expect(await totalOfStore()).toMatchObject({ settled: CHARGE })
  expect(await reconcileAccounts(false)).toEqual([])
  // A former version of keys names no plans.
  expect(await differences(false)).toEqual([])
})

test('a total that is on its way is not reported', async () => {
  await record(usageEvent())
  const looking = reconcile(context, { accounts: [account], plans: [], repair: false }, 300)
  await new Promise((resolve) => setTimeout(resolve, 100))
  await store.applyTotal(ledger.admission.reported.at(-1)!)
  expect((await looking).drifts).toEqual([])
})

test("a key's total that the store never received is found, written on request, and then agrees", async () => {
  await store.warm({ account, window: WINDOW, settled: 0, version: 0, keys: [{ keyId: 'key00001', settled: 0 }] })
  await record(usageEvent())
  await store.applyTotal({ account, window: WINDOW, settled: CHARGE, version: 1, included: [] })
  expect(await kinds(false)).toEqual([['total', false]])
  expect(await kinds(true)).toEqual([['total', true]])
  expect((await store.inspect(account)).keyTotals).toMatchObject([{ keyId: 'key00001', settled: CHARGE }])
  expect(await kinds(false)).toEqual([])
})

test('nothing is repaired where the audit log cannot have it', async () => {
  await record(usageEvent())
  const noteRepairs = async () => {
    throw new Error('keys is away')
  }
  const repairing = reconcile({ ...context, noteRepairs }, { accounts: [account], plans: [], repair: true }, 1)
  await expect(repairing).rejects.toThrow('keys is away')
  expect(await totalOfStore()).toEqual({ settled: 0, version: 0 })
})
