/**
 * A suspended account: all its keys are refused from the reply on, and each of them is as it was after the restoration.
 */

import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterEach, afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { KeysInvalidated } from '@gateway/contracts/developer-keys-api'
import { rpcClient } from '@gateway/rpc/client'
import { parseKey } from '@gateway/contracts/api-key'
import { admitOnce, admitUntilRefused } from '../../test/edge.ts'
import { hashOf, minted, openKeysService, personCall, type TestKeys } from '../../test/keys-service.ts'
import { call, refusalOf } from '../../test/projects.ts'
import { findSession, mintKey, revokeKeyById, rotateKey } from '../handlers/developer-keys.ts'
import { lookUp } from '../handlers/look-up.ts'
import { mintGuest } from '../handlers/mint-guest.ts'
import { reconcile } from './reconcile.ts'

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => void (keys = await openKeysService(postgres)))
afterEach(() => keys[Symbol.asyncDispose]())

const ALICE = { issuer: 'https://id.example', subject: 'alice' }
const DEVICE = { deviceId: 'a-laptop', clientNetwork: '203.0.113.7' }

async function projectWithKeys() {
  const { id: project_id } = await call(keys, 'projects.create', { name: 'search' })
  const limited = await call(keys, 'apiKeys.create', { project_id, name: 'limited', max_requests_per_1_minute: 2 })
  const other = await call(keys, 'apiKeys.create', { project_id, name: 'other' })
  return { project_id, limited, other }
}

const suspend = (account_id: string, suspended = true) => call(keys, 'accounts.update', { account_id, suspended })
const decisionOn = async (value: string) => {
  const decision = await admitOnce(keys, value)
  return decision.kind === 'deny' ? `deny ${decision.reason}` : decision.kind
}
const REFUSED = 'deny key'
const unannounced = async () => (await keys.database.query('select from keys.project_outbox')).rows.length

test("a project's keys are refused while it is suspended, and afterwards each has its limits again", async () => {
  const { project_id, limited, other } = await projectWithKeys()
  expect(await decisionOn(other.value)).toBe('allow')
  expect(await suspend(project_id)).toMatchObject({ suspended: true })
  // The store has seen one of them only.
  for (const { value } of [limited, other]) expect(await decisionOn(value)).toBe(REFUSED)
  keys.admission.forget()
  for (const { value } of [limited, other]) expect(await decisionOn(value)).toBe(REFUSED)
  expect(await suspend(project_id, false)).toMatchObject({ suspended: false })
  expect(await admitUntilRefused(keys, limited.value)).toEqual({ admitted: 2, refusal: 'requests key' })
  expect(await decisionOn(other.value)).toBe('allow')
})

test('a person gets no other key while the account is suspended, and has the same key afterwards', async () => {
  const { key } = await minted(keys, { owner: ALICE })
  const account = parseKey(key)!.accountTag
  await suspend(account)
  expect(await decisionOn(key)).toBe(REFUSED)
  expect(await mintKey(keys, { owner: ALICE, readsSuspended: true })).toEqual({ kind: 'suspended' })
  await expect(mintKey(keys, { owner: ALICE })).rejects.toThrow('former release')
  expect(await rotateKey(keys, { owner: ALICE, keyHash: hashOf(key) })).toEqual({ kind: 'invalid' })
  expect(await findSession(keys, { owner: ALICE })).toEqual({ kind: 'none' })
  expect(await lookUp(keys, { account, keyHash: hashOf(key) })).toEqual({ kind: 'dead' })
  await suspend(account, false)
  expect(await decisionOn(key)).toBe('allow')
  expect(await mintKey(keys, { owner: ALICE })).toMatchObject({ kind: 'minted', key })
  expect(await lookUp(keys, { account, keyHash: hashOf(key) })).toMatchObject({ kind: 'active' })
})

test('a suspended device gets no other key for guests', async () => {
  const before = await mintGuest(keys, DEVICE)
  if (before.kind !== 'minted') throw new Error(before.kind)
  await suspend(parseKey(before.key)!.accountTag)
  expect(await mintGuest(keys, { ...DEVICE, readsSuspended: true })).toEqual({ kind: 'suspended' })
  await expect(mintGuest(keys, DEVICE)).rejects.toThrow('former release')
  await suspend(parseKey(before.key)!.accountTag, false)
  expect(await mintGuest(keys, DEVICE)).toEqual(before)
})

test('a process of release 0.1.0 takes a suspended key for dead, and cannot make another one', async () => {
  const { key } = await minted(keys, { owner: ALICE })
  const { accountTag: account, keyId } = parseKey(key)!
  await suspend(account)
  const read = "select status = 'active' as active from keys.keys where account = $1"
  expect((await keys.database.query(read, [account])).rows).toEqual([{ active: false }])
  const copy = `insert into keys.keys (key_id, account, hash, sealed, master_key_id, version)
    select 'another1', account, sha256(hash), sealed, master_key_id, version from keys.keys where key_id = $1`
  await expect(keys.database.query(copy, [keyId])).rejects.toThrow('is suspended')
})

test('a key that is revoked meanwhile stays dead, and one that is made meanwhile lives from the restoration on', async () => {
  const { project_id, limited, other } = await projectWithKeys()
  const { key } = await minted(keys, { owner: ALICE })
  for (const account of [project_id, parseKey(key)!.accountTag]) await suspend(account)
  await call(keys, 'apiKeys.delete', { project_id, api_key_id: limited.id })
  expect(await revokeKeyById(keys, { keyId: parseKey(key)!.keyId })).toMatchObject({ kind: 'revoked' })
  const made = await call(keys, 'apiKeys.create', { project_id, name: 'made' })
  expect(await decisionOn(made.value)).toBe(REFUSED)
  for (const account of [project_id, parseKey(key)!.accountTag]) await suspend(account, false)
  for (const value of [limited.value, key]) expect(await decisionOn(value)).toBe(REFUSED)
  for (const { value } of [other, made]) expect(await decisionOn(value)).toBe('allow')
})

test('each way to end a suspended key of a person is one row of the audit log, and the key stays dead', async () => {
  const ends = {
    'keys.revoke': (of: Held) => call(keys, 'keys.revoke', { key_id: of.id }),
    'apiKeys.delete': (of: Held) => call(keys, 'apiKeys.delete', { project_id: of.project, api_key_id: of.id }),
    'users.delete': (of: Held) => call(keys, 'users.delete', { user_id: of.user }),
  }
  for (const [name, end] of Object.entries(ends)) {
    const owner = { ...ALICE, subject: name }
    const { key } = await minted(keys, { owner })
    const { accountTag, keyId } = parseKey(key)!
    const { id: user } = await call(keys, 'me.retrieve', {}, personCall(owner))
    await suspend(accountTag)
    expect(await call(keys, 'users.preview', { user_id: user })).toMatchObject({ keys: 1, open_requests: 0 })
    expect(await call(keys, 'projectViews.retrieve', { project_id: `proj_${accountTag}` })).toMatchObject({ keys: 1 })
    await end({ id: `key_${keyId}`, project: `proj_${accountTag}`, user })
    await suspend(accountTag, false)
    expect(await decisionOn(key)).toBe(REFUSED)
    const filter = { resource_ids: [`key_${keyId}`], event_types: ['api_key.deleted'] }
    expect((await call(keys, 'auditLogs.list', filter)).data).toMatchObject([{ project: { id: `proj_${accountTag}` } }])
  }
})

interface Held {
  id: string
  project: string
  user: string
}

test('the restoration holds although the suspension is announced after it', async () => {
  const { project_id, other } = await projectWithKeys()
  expect(await decisionOn(other.value)).toBe('allow')
  keys.admission.away = true
  expect(await refusalOf(keys, 'accounts.update', { account_id: project_id, suspended: true })).toBe(
    'SERVICE_UNAVAILABLE',
  )
  const restoring = suspend(project_id, false)
  keys.admission.away = false
  await restoring
  await expect.poll(unannounced, { timeout: 20_000 }).toBe(0)
  expect(await decisionOn(other.value)).toBe('allow')
}, 60_000)

test('every edge hears of each suspended key, with the version that it is suspended at', async () => {
  const { project_id, limited, other } = await projectWithKeys()
  const received: KeysInvalidated[] = []
  await using _ = await rpcClient('edge', keys.bus).subscribe('keysInvalidated', (event) => void received.push(event))
  await suspend(project_id)
  await expect.poll(() => received.length).toBe(2)
  const { rows } = await keys.database.query<{ version: number }>('select version from keys.accounts where tag = $1', [
    project_id.slice(5),
  ])
  const facts = { account: project_id.slice(5), reason: 'suspended', version: rows[0]!.version }
  const hashes = received.map(({ keyHash }) => keyHash).toSorted()
  expect(hashes).toEqual([limited, other].map(({ value }) => hashOf(value)).toSorted())
  for (const event of received) expect(event).toMatchObject(facts)
})

test('each change is one row of the audit log, and a repetition is none', async () => {
  const { project_id } = await projectWithKeys()
  for (const suspended of [true, true, false, false]) await suspend(project_id, suspended)
  const { data } = await call(keys, 'auditLogs.list', { event_types: ['account.updated'] })
  expect(data.map(({ before, after }) => [before, after])).toEqual([
    [{ suspended: true }, { suspended: false }],
    [{ suspended: false }, { suspended: true }],
  ])
})

test('a repair of the store leaves a suspended key as it can be restored', async () => {
  const { key } = await minted(keys, { owner: ALICE })
  const account = parseKey(key)!.accountTag
  expect(await decisionOn(key)).toBe('allow')
  const before = await keys.admission.store().inspect(account)
  await suspend(account)
  // The store of an older backup: it holds the key alive, at a version of its own.
  keys.admission.forget()
  const { window, facts } = before
  const alive = { keyHash: hashOf(key), version: 50, active: true }
  const { version: _, ...plan } = facts!
  // oxlint-disable-next-line unicorn/no-array-fill-with-reference-type -- the store's fill, not an array's
  await keys.admission.store().fill({ account, window, version: 50, ...plan, keys: [alive] })
  expect((await reconcile(keys, { after: null, repair: true }, 0)).drifts).toMatchObject(
    expect.arrayContaining([expect.objectContaining({ kind: 'key', repaired: true })]),
  )
  expect(await decisionOn(key)).toBe(REFUSED)
  await suspend(account, false)
  expect(await decisionOn(key)).toBe('allow')
})
