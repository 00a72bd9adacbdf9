import { randomUUID } from 'node:crypto'
import type { AccountReply } from '@gateway/contracts/accounts-api'
import { parseKey } from '@gateway/contracts/api-key'
import { groups, subjects } from '@gateway/contracts/subjects'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { hashOf, openKeysService, type TestKeys, minted } from '../../test/keys-service.ts'
import { showAccount } from '../handlers/show-account.ts'
import { setOverage, setPlan, topUp } from './bus-commands.ts'
import { fillTogether } from '../handlers/fill.ts'
import { mintGuest } from '../handlers/mint-guest.ts'
import { recordQuotaStatus } from '../thresholds.ts'

let postgres: PostgresServer
let keys: TestKeys
let warmed: unknown[]
/** Before metering replies. */
let warming: () => Promise<void>
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  keys = await openKeysService(postgres)
  warmed = []
  warming = async () => {}
  await keys.bus.serve(subjects.meteringWarm, groups.metering, async (question) => {
    await warming()
    warmed.push(JSON.parse(Buffer.from(question).toString()))
    return Buffer.from('{"kind":"warmed"}')
  })
})
afterEach(() => keys[Symbol.asyncDispose]())

const mint = async (subject: string, issuer = 'https://id.example'): Promise<string> =>
  (await minted(keys, { owner: { issuer, subject } })).key

function accountIn(reply: AccountReply) {
  if (reply.kind !== 'account') throw new Error(`no account: ${reply.kind}`)
  return reply.account
}

test('once a plan is set, the admission store holds it, and keys requests the total in its unit', async () => {
  const key = await mint('alice')
  const account = accountIn(await setPlan(keys, { subject: 'alice', plan: 'payg' }))
  expect(account).toMatchObject({ plan: 'payg', unit: 'usd', account: parseKey(key)!.accountTag })
  expect(await keys.admission.authenticate(key)).toMatchObject({ kind: 'active', plan: 'payg' })
  expect(warmed).toEqual([{ account: account.account, unit: 'usd', planVersion: 2 }])
  expect((await minted(keys, { owner: { issuer: 'https://id.example', subject: 'alice' } })).plan).toBe('payg')
})

test('until metering reports the total in the new unit, the former plan holds', async () => {
  const key = await mint('alice')
  const plans: unknown[] = []
  warming = async () => {
    plans.push(await keys.admission.authenticate(key))
    if (plans.length === 1) throw new Error('metering is away')
  }
  await setPlan(keys, { subject: 'alice', plan: 'payg' })
  expect(plans).toMatchObject([{ plan: 'free' }, { plan: 'free' }])
  expect(await keys.admission.authenticate(key)).toMatchObject({ kind: 'active', plan: 'payg' })
})

test('a plan that the config does not have is refused and changes nothing', async () => {
  const key = await mint('alice')
  const reply = await setPlan(keys, { subject: 'alice', plan: 'platinum' })
  expect(reply).toEqual({ kind: 'no_such_plan', plans: keys.config.current.plans.map(({ slug }) => slug) })
  expect(await keys.admission.authenticate(key)).toMatchObject({ plan: 'free' })
})

test('top-ups add up, each once', async () => {
  const key = await mint('alice')
  const id = randomUUID()
  await topUp(keys, { id, subject: 'alice', amount: 1_000 })
  await topUp(keys, { id, subject: 'alice', amount: 1_000 })
  const account = accountIn(await topUp(keys, { id: randomUUID(), subject: 'alice', amount: 500.5 }))
  expect(account.extra).toBe(1_500.5)
  const { rows } = await keys.database.query('select sum(amount)::bigint as total from keys.top_ups')
  expect(rows).toEqual([{ total: 1_500_500 }])
  expect(await keys.admission.authenticate(key)).toMatchObject({ kind: 'active' })
})

test('the id of one top-up does not stand for another', async () => {
  await mint('alice')
  await mint('bob')
  const id = randomUUID()
  await topUp(keys, { id, subject: 'alice', amount: 1_000 })
  await expect(topUp(keys, { id, subject: 'bob', amount: 1_000 })).rejects.toThrow('was used before')
  await expect(topUp(keys, { id, subject: 'alice', amount: 2_000 })).rejects.toThrow('was used before')
  expect(accountIn(await showAccount(keys, { subject: 'alice' })).extra).toBe(1_000)
  expect(accountIn(await showAccount(keys, { subject: 'bob' })).extra).toBe(0)
})

test('top-ups that nobody can count are refused: they take no account along, neither theirs nor another', async () => {
  const [key, other] = [await mint('alice'), await mint('bob')]
  await setPlan(keys, { subject: 'alice', plan: 'payg' })
  const most = Number.MAX_SAFE_INTEGER / 1e9
  const add = (amount: number) => topUp(keys, { id: randomUUID(), subject: 'alice', amount })
  await expect(add(10_000_000)).rejects.toThrow('amount: 10000000 usd')
  await expect(add(1e30)).rejects.toThrow('amount: Too big')
  await expect(add(1e-10)).rejects.toThrow('amount: 1e-10 usd')
  expect(accountIn(await add(9_000_000)).extra).toBe(9_000_000)
  await expect(add(most - 9_000_000 + 1)).rejects.toThrow('amount')
  expect(accountIn(await add(7_000)).extra).toBe(9_007_000)

  const request = (value: string) => ({ account: parseKey(value)!.accountTag, keyHash: hashOf(value) })
  const fill = fillTogether(keys)
  const filled = await Promise.all([fill(request(key)), fill(request(other))])
  expect(filled.map(({ kind }) => kind)).toEqual(['filled', 'filled'])
  const totals = [key, other].map((value) => ({ ...request(value), window: '2025-01', milliTokens: 0, nanoUsd: 0 }))
  expect(await recordQuotaStatus(keys, { totals })).toEqual({ kind: 'noted' })
})

test('overage is switched on and off', async () => {
  await mint('alice')
  expect(accountIn(await setOverage(keys, { subject: 'alice', overage: true })).overage).toBe(true)
  expect(accountIn(await showAccount(keys, { subject: 'alice' })).overage).toBe(true)
  expect(accountIn(await setOverage(keys, { subject: 'alice', overage: false })).overage).toBe(false)
})

test('changes at once are all kept', async () => {
  await mint('alice')
  await Promise.all([
    setPlan(keys, { subject: 'alice', plan: 'pro' }),
    setOverage(keys, { subject: 'alice', overage: true }),
    ...Array.from({ length: 10 }, () => topUp(keys, { id: randomUUID(), subject: 'alice', amount: 7 })),
  ])
  expect(accountIn(await showAccount(keys, { subject: 'alice' }))).toMatchObject({
    plan: 'pro',
    overage: true,
    extra: 70,
  })
})

test('a subject that issuers share must be named with its issuer', async () => {
  await mint('alice', 'https://one.example')
  await mint('alice', 'https://two.example')
  const matches = ['https://one.example|alice', 'https://two.example|alice']
  expect(await showAccount(keys, { subject: 'alice' })).toEqual({ kind: 'ambiguous', matches })
  expect(accountIn(await showAccount(keys, { subject: matches[1]! })).issuer).toBe('https://two.example')
})

test('a subject with a bar of its own is found by its name', async () => {
  await mint('auth0|5f7c', 'https://tenant.example/')
  expect(accountIn(await showAccount(keys, { subject: 'auth0|5f7c' })).subject).toBe('auth0|5f7c')
  expect(accountIn(await showAccount(keys, { subject: 'https://tenant.example/|auth0|5f7c' })).subject).toBe(
    'auth0|5f7c',
  )
})

test("a guest's account is found by the tag in its key", async () => {
  const reply = await mintGuest(keys, { deviceId: 'device-1', clientNetwork: '203.0.113.7' })
  if (reply.kind !== 'minted') throw new Error('not minted')
  const { accountTag } = parseKey(reply.key)!
  expect(accountIn(await showAccount(keys, { subject: accountTag }))).toMatchObject({
    kind: 'guest',
    plan: 'guest-device',
  })
})

test('nobody is nobody', async () => {
  expect(await showAccount(keys, { subject: 'nobody' })).toEqual({ kind: 'unknown' })
  expect(await setPlan(keys, { subject: 'nobody', plan: 'pro' })).toEqual({ kind: 'unknown' })
})
