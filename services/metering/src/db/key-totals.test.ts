import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLedger, type TestLedger } from '../../test/ledger.ts'
import { messageOf, requestIdAt, usageEvent, WINDOW } from '../../test/usage-events.ts'
import { consumeUsage } from '../consumers/usage.ts'
import { quota } from '../handlers/quota.ts'
import { warmTogether } from '../handlers/warm.ts'

let postgres: PostgresServer
let ledger: TestLedger
let warm: ReturnType<typeof warmTogether>
beforeAll(async () => {
  postgres = await startPostgres()
  ledger = await openLedger(postgres)
  warm = warmTogether(ledger)
})
afterAll(async () => {
  await ledger[Symbol.asyncDispose]()
  await postgres[Symbol.asyncDispose]()
})

let accounts = 0
const newAccount = () => `proj${String(++accounts).padStart(4, '0')}`
const take = (...events: UsageEvent[]) => consumeUsage(ledger, [messageOf(...events)])
const ofProject = (account: string, keyId: string, rest: Partial<UsageEvent> & { tokens?: number } = {}) =>
  usageEvent({ account, keyId, isProject: true, ...rest })
const stored = (account: string, keyId: string) => ledger.admission.keyTotal(account, keyId)

test("a key's total begins with all that the key used in the month, and moves with each further request", async () => {
  const account = newAccount()
  await take(ofProject(account, 'limited1'), ofProject(account, 'limited1'), ofProject(account, 'another1'))
  await warm({ account, keyId: 'limited1' })
  expect(stored(account, 'limited1')).toBe(300_000)
  await take(ofProject(account, 'limited1'), ofProject(account, 'another1'))
  expect(stored(account, 'limited1')).toBe(450_000)
  expect(stored(account, 'another1')).toBeUndefined()
})

test('a key that has used nothing has a total of 0, and its first request moves it', async () => {
  const account = newAccount()
  await warm({ account, keyId: 'limited1' })
  expect(stored(account, 'limited1')).toBe(0)
  expect(ledger.admission.total(account)).toEqual({ settled: 0, version: 0 })
  const inDollars = { unit: 'usd', price: { kind: 'base', nanoUsdPerKiloToken: 4_500_000 } } as const
  await take(ofProject(account, 'limited1', inDollars))
  expect(ledger.admission.total(account)).toEqual({ settled: 450_000, version: 1 })
  expect(stored(account, 'limited1')).toBe(450_000)
})

test("a report that replaces another, and a claim that voids one, move the key's total as they move the account's", async () => {
  const account = newAccount()
  await warm({ account, keyId: 'limited1' })
  const lost = ofProject(account, 'limited1', {
    reporter: 'router',
    outcome: 'edge_lost',
    delivered: false,
    tokens: 40,
    claim: 'one',
  })
  await take(lost)
  expect(stored(account, 'limited1')).toBe(60_000)
  await take({ ...ofProject(account, 'another1', { claim: 'one' }) })
  expect(stored(account, 'limited1')).toBe(0)
  await take({ ...ofProject(account, 'limited1', { claim: 'one' }), requestId: lost.requestId })
  expect(stored(account, 'limited1')).toBe(150_000)
})

test('a key with a total begins a new month with nothing, and the store hears of each request of it', async () => {
  const account = newAccount()
  await take(ofProject(account, 'limited1'))
  await warm({ account, keyId: 'limited1' })
  const february = { window: '2025-02', startedAtMs: Date.parse('2025-02-01T00:00:01Z') }
  await take(ofProject(account, 'limited1', february), ofProject(account, 'another1', february))
  const { reported } = ledger.admission
  expect(reported.findLast((total) => total.account === account)).toMatchObject({
    window: '2025-02',
    settled: 300_000,
    keys: [{ keyId: 'limited1', settled: 150_000 }],
  })
})

test('a change of unit brings the totals of all keys in the new unit', async () => {
  const account = newAccount()
  await take(ofProject(account, 'limited1', { planVersion: 1 }))
  await warm({ account, keyId: 'limited1' })
  await warm({ account, unit: 'usd', planVersion: 2 })
  expect(ledger.admission.total(account)?.settled).toBe(0)
  expect(stored(account, 'limited1')).toBe(0)
  await warm({ account, unit: 'tokens', planVersion: 3 })
  expect(stored(account, 'limited1')).toBe(150_000)
})

test("a quota has its keys' totals, of keys without a total, too", async () => {
  const account = newAccount()
  await take(ofProject(account, 'limited1'), ofProject(account, 'another1', { tokens: 50 }))
  const request = { account, unit: 'tokens' as const, keyIds: ['limited1', 'unused01'] }
  const reply = await quota({ ...ledger, now: Date.now }, request)
  expect(reply).toMatchObject({ used: 225_000, window: WINDOW })
  expect(new Map(reply.keys!.map(({ keyId, settled }) => [keyId, settled]))).toEqual(
    new Map([
      ['limited1', 150_000],
      ['unused01', 0],
    ]),
  )
})

test('totals of keys that the store could not take come when it is back', async () => {
  const account = newAccount()
  await warm({ account, keyId: 'limited1' })
  ledger.admission.away = true
  await take(ofProject(account, 'limited1'))
  expect(stored(account, 'limited1')).toBe(0)
  ledger.admission.away = false
  await expect.poll(() => stored(account, 'limited1'), { timeout: 10_000 }).toBe(150_000)
})

test("a former process' rows, which name no project, move the key's total, too", async () => {
  const account = newAccount()
  await warm({ account, keyId: 'limited1' })
  await take(usageEvent({ account, keyId: 'limited1' }))
  expect(stored(account, 'limited1')).toBe(150_000)
})

const action = fc.oneof(
  fc.record({ warm: fc.nat({ max: 2 }) }),
  fc.record({
    request: fc.nat({ max: 9 }),
    reporter: fc.constantFrom('edge' as const, 'router' as const),
    unit: fc.constantFrom('tokens' as const, 'usd' as const),
    isNextMonth: fc.boolean(),
    tokens: fc.integer({ min: 10, max: 500 }),
  }),
)

test('after any reports and first needs side by side, the totals of keys are those of the rows, in the ledger and in the store', async () => {
  const run = fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 14 }), async (actions) => {
    const account = newAccount()
    const ids = Array.from({ length: 10 }, () => requestIdAt(Date.parse('2025-01-31T23:59:00Z')))
    await Promise.all(
      actions.map(async (one) => {
        await turn()
        if ('warm' in one) return warm({ account, keyId: `limited${one.warm}` })
        const { request, isNextMonth, ...rest } = one
        const window = isNextMonth ? '2025-02' : WINDOW
        const startedAtMs = Date.parse(isNextMonth ? '2025-02-01T00:00:01Z' : '2025-01-31T23:59:59Z')
        // All reports of a request name the key that it came with.
        const event = ofProject(account, `limited${request % 3}`, { ...rest, window, startedAtMs })
        return take({ ...event, requestId: ids[request]! })
      }),
    )
    const { rows: differing } = await ledger.database.query(
      `select key_id, "window" from metering.key_windows held where account = $1 and (milli_tokens, nano_usd) <> (
         select coalesce(sum(charge) filter (where unit = 'tokens'), 0), coalesce(sum(charge) filter (where unit = 'usd'), 0)
         from metering.ledger row where (row.account, row.key_id, row."window") = (held.account, held.key_id, held."window"))`,
      [account],
    )
    expect(differing).toEqual([])
    const { rows: kept } = await ledger.database.query<{ key_id: string; settled: number }>(
      `select key_id, case unit when 'tokens' then key.milli_tokens else key.nano_usd end as settled
       from metering.key_windows key join metering.windows using (account, "window") where account = $1 and "window" = $2`,
      [account, WINDOW],
    )
    for (const { key_id: keyId, settled } of kept) {
      const known = stored(account, keyId)
      if (known !== undefined) expect([keyId, known]).toEqual([keyId, settled])
    }
  })
  await fc.assert(run, { numRuns: 60 })
})
