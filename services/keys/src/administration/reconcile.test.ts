import { parseKey } from '@gateway/contracts/api-key'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { hashOf, minted, OPERATOR_CALL, openKeysService, personCall, type TestKeys } from '../../test/keys-service.ts'
import { noteRepairs } from './audit-repairs.ts'
import { listKeys } from '../handlers/developer-keys.ts'
import { reconcile } from './reconcile.ts'

const ALICE = { issuer: 'https://id.example', subject: 'alice' }

let postgres: PostgresServer
let keys: TestKeys
let key: string
let account: string
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  keys = await openKeysService(postgres)
  key = (await minted(keys, { owner: ALICE })).key
  account = parseKey(key)!.accountTag
})
afterEach(() => keys[Symbol.asyncDispose]())

/** The audit log has each repair with both states, and nothing of a mere look. */
async function page(repair: boolean, after: string | null = null) {
  const before = await repairsLogged()
  const found = await reconcile(keys, { after, repair }, 1)
  const changes = found.drifts.map(({ account: tag, kind, store, truth }) => {
    return { project: `proj_${tag}`, before: { [kind]: store }, after: { [kind]: truth } }
  })
  const logged = await repairsLogged()
  expect(logged.slice(before.length)).toEqual(repair ? changes : [])
  return found
}

async function repairsLogged() {
  const query = keys.database.selectFrom('keys.audit_log').select('entry').where('type', '=', 'account.repaired')
  const rows = await query.orderBy('seq').execute()
  return rows.map(({ entry }) => {
    const { project, before, after } = JSON.parse(entry) as Record<string, unknown>
    return { project, before, after }
  })
}

const kinds = async (repair: boolean) => (await page(repair)).drifts.map(({ kind, repaired }) => [kind, repaired])
const spoil = (sql: string) => keys.database.query(sql)

test('a store that agrees, or knows nothing, has no differences', async () => {
  expect(await page(false)).toEqual({
    accounts: [account],
    plans: [{ account, unit: 'tokens', planVersion: 1 }],
    drifts: [],
    isLast: true,
  })
})

test('accounts come page by page, each once', async () => {
  await spoil(`insert into keys.accounts (tag, kind, device_hash, plan)
    select lpad(n::text, 8, '0'), 'guest', n::text::bytea, 'guest-device' from generate_series(1, 230) n`)
  const seen: string[] = []
  for (let after: string | null = null, isLast = false; !isLast;) {
    const found: Awaited<ReturnType<typeof page>> = await page(false, after)
    seen.push(...found.accounts)
    expect(found.drifts).toEqual([])
    after = found.accounts.at(-1)!
    isLast = found.isLast
  }
  expect(seen).toHaveLength(231)
  expect(new Set(seen).size).toBe(231)
})

test('reconcile finds a plan that the store does not have, and writes it on request', async () => {
  await spoil(`update keys.accounts set plan = 'pro'`)
  expect(await kinds(false)).toEqual([['account', false]])
  expect(await keys.admission.authenticate(key)).toMatchObject({ plan: 'free' })
  expect(await kinds(true)).toEqual([['account', true]])
  expect(await keys.admission.authenticate(key)).toMatchObject({ plan: 'pro' })
  expect(await kinds(false)).toEqual([])
})

test('facts that outran a restored table are put right, and later changes are taken again', async () => {
  const newer = { account, version: 90, plan: 'pro', overage: true, extra: 5, keys: [] }
  await keys.admission.fill(newer)
  expect(await kinds(true)).toEqual([['account', true]])
  expect(await keys.admission.authenticate(key)).toMatchObject({ plan: 'free', overage: false, extra: 0 })
})

test('a dead key that is alive in the store is buried', async () => {
  await spoil(`update keys.keys set status = 'deactivated', deactivated_at = now()`)
  expect(await kinds(true)).toEqual([['key', true]])
  expect(await keys.admission.authenticate(key)).toEqual({ kind: 'deny' })
})

test('a key that nobody knows is buried', async () => {
  await keys.admission.fill({
    ...{ account, version: 1, plan: 'free', overage: false, extra: 0 },
    keys: [{ keyHash: 'c3RyYW5nZXI', version: 1, active: true }],
  })
  expect((await page(true)).drifts).toMatchObject([{ kind: 'key', truth: 'there is no such key', repaired: true }])
})

test('a revoked key that a restored table knows alive stays dead, and its owner can mint another', async () => {
  await keys.admission.deactivate({ account, keyHash: hashOf(key), version: 50 })
  expect(await kinds(true)).toEqual([['key', true]])
  expect((await listKeys(keys, { owner: ALICE })).keys).toMatchObject([{ status: 'deactivated' }])
  const fresh = (await minted(keys, { owner: ALICE })).key
  expect(fresh).not.toBe(key)
  expect(await keys.admission.authenticate(fresh)).toMatchObject({ kind: 'active' })
})

test('a repair whose caller is no owner of the organization, or has a dead admin key, changes nothing', async () => {
  await spoil(`update keys.accounts set plan = 'pro'`)
  const { origin } = OPERATOR_CALL
  for (const credential of [
    personCall({ subject: 'rita', role: 'reader' }).credential,
    { kind: 'admin_key', hash: 'bm9ib2R5' } as const,
  ])
    await expect(reconcile(keys, { after: null, repair: true, by: { credential, origin } }, 1)).rejects.toThrow()
  expect(await keys.admission.authenticate(key)).toMatchObject({ plan: 'free' })
  expect(await kinds(false)).toEqual([['account', false]])
})

test('keys logs the repairs that metering is about to make, with the name of their caller', async () => {
  const repairs = [{ account, kind: 'total' as const, store: '0 settled', truth: '5 settled' }]
  expect(await noteRepairs(keys, { repairs, by: OPERATOR_CALL })).toEqual({ kind: 'noted' })
  expect(await repairsLogged()).toEqual([
    { project: `proj_${account}`, before: { total: '0 settled' }, after: { total: '5 settled' } },
  ])
  const { credential } = personCall({ subject: 'rita', role: 'reader' })
  await expect(noteRepairs(keys, { repairs, by: { ...OPERATOR_CALL, credential } })).rejects.toThrow(/owner/)
  expect(await repairsLogged()).toHaveLength(1)
})
