import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { maskKey, parseKey } from '@gateway/contracts/api-key'
import {
  keysInvalidated,
  type KeyOwner,
  type KeysInvalidated,
  type ListedKey,
} from '@gateway/contracts/developer-keys-api'
import { subjects } from '@gateway/contracts/subjects'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { rpcClient } from '@gateway/rpc/client'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { countRows, hashOf, openKeysService, type TestKeys, minted } from '../../test/keys-service.ts'
import { lockDeveloperAccount } from '../db/accounts.ts'
import { URGENT_CONNECTIONS } from '../start.ts'
import { showAccount } from './show-account.ts'
import { fillTogether } from './fill.ts'
import { findAccount, findSession, listKeys, revokeKey, revokeKeyById, rotateKey } from './developer-keys.ts'
import { lookUp } from './look-up.ts'
import { mintGuest } from './mint-guest.ts'

let postgres: PostgresServer
let keys: TestKeys
/** Each event once, however often keys publishes it. */
let cuts: KeysInvalidated[]
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  keys = await openKeysService(postgres)
  cuts = []
  await keys.bus.listen(subjects.keysInvalidated, (word) => {
    const event = keysInvalidated.parse(JSON.parse(Buffer.from(word).toString()))
    if (!cuts.some((cut) => isDeepStrictEqual(cut, event))) cuts.push(event)
  })
})
afterEach(() => keys[Symbol.asyncDispose]())

const ALICE: KeyOwner = { issuer: 'https://id.example', subject: 'alice' }
const MALLORY: KeyOwner = { issuer: 'https://id.example', subject: 'mallory' }

const mint = async (owner = ALICE): Promise<string> => (await minted(keys, { owner })).key
const rotate = (key: string, owner = ALICE) => rotateKey(keys, { owner, keyHash: hashOf(key) })
const revoke = (key: string, owner = ALICE) => revokeKey(keys, { owner, keyHash: hashOf(key) })

async function rotated(key: string): Promise<string> {
  const reply = await rotate(key)
  if (reply.kind !== 'rotated') throw new Error(`not rotated: ${reply.kind}`)
  return reply.key
}

test("a caller's first mint creates a key on the default plan, known to the admission store at once", async () => {
  const reply = await minted(keys, { owner: ALICE })
  expect(reply).toEqual({ kind: 'minted', key: expect.stringMatching(/^svc_/), plan: 'free' })
  expect(await keys.admission.authenticate(reply.key)).toMatchObject({ kind: 'active', plan: 'free' })
})

test('the same caller gets the same key, at any number of requests at once', async () => {
  const minted = await Promise.all(Array.from({ length: 50 }, () => mint()))
  expect(new Set(minted).size).toBe(1)
  expect(await mint()).toBe(minted[0])
  expect(await countRows(keys.database, 'accounts')).toBe(1)
  expect(await countRows(keys.database, 'keys')).toBe(1)
})

test('the same subject of another issuer is somebody else', async () => {
  expect(await mint({ ...ALICE, issuer: 'https://other.example' })).not.toBe(await mint())
})

test('a signed-in caller has an account from the first key on, and keeps it without an active one', async () => {
  expect(await findAccount(keys, { owner: ALICE })).toEqual({ kind: 'none' })
  const key = await mint()
  const found = { kind: 'found', account: parseKey(key)!.accountTag }
  expect(await findAccount(keys, { owner: ALICE })).toEqual(found)
  await revoke(key)
  expect(await findAccount(keys, { owner: ALICE })).toEqual(found)
  expect(await findAccount(keys, { owner: MALLORY })).toEqual({ kind: 'none' })
})

test("an owner whose row is locked, however often they revoke, holds up no other owner's revoke", async () => {
  const [mine, others] = [await mint(), await mint(MALLORY)]
  const waiting: ReturnType<typeof revoke>[] = []
  await keys.database.transaction().execute(async (transaction) => {
    await lockDeveloperAccount(transaction, ALICE)
    for (let times = 0; times < 2 * URGENT_CONNECTIONS; times++) waiting.push(revoke(mine))
    expect(await revoke(others, MALLORY)).toMatchObject({ kind: 'revoked' })
  })
  const replies = await Promise.all(waiting)
  expect(new Set(replies.map(({ kind }) => kind))).toEqual(new Set(['revoked']))
})

test('of fifty rotations at once exactly one wins', async () => {
  const key = await mint()
  const replies = await Promise.all(Array.from({ length: 50 }, () => rotate(key)))
  const winners = replies.filter(({ kind }) => kind === 'rotated')
  expect(winners).toHaveLength(1)
  expect(replies.filter(({ kind }) => kind === 'invalid')).toHaveLength(49)
  expect(winners[0]).toMatchObject({ key: await mint() })
})

test('after the reply to rotate, the old key is refused and the new one works, on the same account', async () => {
  const before = await mint()
  const after = await rotated(before)
  expect(await keys.admission.authenticate(before)).toEqual({ kind: 'deny' })
  expect(await keys.admission.authenticate(after)).toMatchObject({ kind: 'active', plan: 'free' })
  expect(parseKey(after)?.accountTag).toBe(parseKey(before)?.accountTag)
})

test('a dead key cannot be rotated, and a foreign one neither rotated nor revoked', async () => {
  const before = await mint()
  const after = await rotated(before)
  await mint(MALLORY)
  expect(await rotate(before)).toEqual({ kind: 'invalid' })
  expect(await rotate(after, MALLORY)).toEqual({ kind: 'invalid' })
  expect(await revoke(after, MALLORY)).toEqual({ kind: 'invalid' })
  expect(await revoke('svc_never-seen')).toEqual({ kind: 'invalid' })
  expect(await keys.admission.authenticate(after)).toMatchObject({ kind: 'active' })
  expect(await mint()).toBe(after)
})

test('after the reply to revoke, the key is refused, and revoking it again gets the same reply', async () => {
  const key = await mint()
  const { keyId } = parseKey(key)!
  expect(await revoke(key)).toEqual({ kind: 'revoked', keyId })
  expect(await keys.admission.authenticate(key)).toEqual({ kind: 'deny' })
  expect(await revoke(key)).toEqual({ kind: 'revoked', keyId })
  expect(maskKey(keyId)).toBe(`${key.slice(0, 12)}…`)
})

test('a revoked caller mints a new key on the same account', async () => {
  const before = await mint()
  await revoke(before)
  const after = await mint()
  expect(after).not.toBe(before)
  expect(parseKey(after)?.accountTag).toBe(parseKey(before)?.accountTag)
  expect(await keys.admission.authenticate(before)).toEqual({ kind: 'deny' })
  expect(await keys.admission.authenticate(after)).toMatchObject({ kind: 'active' })
})

test('the edges receive the dead key and the reason', async () => {
  const before = await mint()
  const after = await rotated(before)
  await revoke(after)
  await expect.poll(() => cuts).toHaveLength(2)
  const account = parseKey(before)!.accountTag
  expect(cuts).toEqual([
    { account, keyHash: hashOf(before), keyId: parseKey(before)!.keyId, reason: 'rotated' },
    { account, keyHash: hashOf(after), keyId: parseKey(after)!.keyId, reason: 'revoked' },
  ])
})

test('an edge that was cut off while a key was revoked hears of it when it is back', async () => {
  const key = await mint()
  await revoke(key)
  const received = Promise.withResolvers<KeysInvalidated>()
  await using _ = await rpcClient('edge', keys.bus).subscribe('keysInvalidated', received.resolve)
  expect(await received.promise).toMatchObject({ keyHash: hashOf(key), reason: 'revoked' })
})

test('a fill that was read before a revoke and arrives after it does not resurrect the key', async () => {
  const key = await mint()
  const question = { account: parseKey(key)!.accountTag, keyHash: hashOf(key) }
  const fills = Array.from({ length: 20 }, () => fillTogether(keys)(question))
  await revoke(key)
  expect(await keys.admission.authenticate(key)).toEqual({ kind: 'deny' })
  await Promise.all(fills)
  expect(await keys.admission.authenticate(key)).toEqual({ kind: 'deny' })
})

test('a revoke that cannot reach the store does not reply, and holds as soon as the store is back', async () => {
  const key = await mint()
  keys.admission.away = true
  await expect(revoke(key)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  keys.admission.away = false
  await expect.poll(() => keys.admission.authenticate(key)).toEqual({ kind: 'deny' })
  await expect.poll(() => countRows(keys.database, 'outbox')).toBe(0)
})

test('the next process announces a revoke whose process died between the commit and the announcement', async () => {
  const key = await mint()
  const died = { ...keys, changes: { ...keys.changes, announce: () => Promise.reject(new Error('killed')) } }
  await expect(revokeKey(died, { owner: ALICE, keyHash: hashOf(key) })).rejects.toThrow('killed')
  expect(await keys.admission.authenticate(key)).toMatchObject({ kind: 'active' })
  await expect.poll(() => keys.admission.authenticate(key)).toEqual({ kind: 'deny' })
  await expect.poll(() => cuts).toHaveLength(1)
})

test('the list shows the newest key first, dead ones too, and no secret', async () => {
  expect(await listKeys(keys, { owner: ALICE })).toEqual({ keys: [], next: null })
  const first = await mint()
  await sleep(5)
  const second = await rotated(first)
  const { keys: listed } = await listKeys(keys, { owner: ALICE })
  expect(listed).toEqual([
    { keyId: parseKey(second)!.keyId, plan: 'free', status: 'active', createdAt: expect.any(String), lastUsedAt: null },
    {
      keyId: parseKey(first)!.keyId,
      plan: 'free',
      status: 'deactivated',
      createdAt: expect.any(String),
      lastUsedAt: null,
    },
  ])
})

test('a list of any length can be read to its end, page by page', async () => {
  const key = await mint()
  const { accountTag, keyId } = parseKey(key)!
  // Several of one moment, too.
  await sql`
    insert into keys.keys (key_id, account, hash, sealed, master_key_id, status, version, created_at, deactivated_at)
    select lpad(number::text, 8, 'x'), ${accountTag}, sha256(number::text::bytea), sealed, master_key_id,
      'deactivated', 1, created_at - make_interval(secs => 1 + number / 3), now()
    from keys.keys, generate_series(1, 2100) as number where key_id = ${keyId}`.execute(keys.database)
  const listed: ListedKey[] = []
  let pages = 0
  for (let after: string | undefined | null; after !== null; pages++) {
    const page = await listKeys(keys, { owner: ALICE, ...(after && { after }) })
    listed.push(...page.keys)
    after = page.next
  }
  expect(pages).toBe(3)
  expect(listed).toHaveLength(2_101)
  expect(new Set(listed.map((one) => one.keyId)).size).toBe(2_101)
  expect(listed[0]).toMatchObject({ keyId, status: 'active' })
  const times = listed.map(({ createdAt }) => createdAt)
  expect(times).toEqual(times.toSorted().toReversed())
  expect(await listKeys(keys, { owner: MALLORY, after: keyId })).toMatchObject({ keys: [], isUnknown: true })
  const account = await showAccount(keys, { subject: ALICE.subject })
  expect(account).toMatchObject({ account: { hasMoreKeys: true, keys: { length: 1_000 } } })
})

test('a signed-in caller acts through their active key, or through none', async () => {
  expect(await findSession(keys, { owner: ALICE })).toEqual({ kind: 'none' })
  const key = await mint()
  const { accountTag: account, keyId } = parseKey(key)!
  expect(await findSession(keys, { owner: ALICE })).toEqual({
    kind: 'found',
    account,
    keyId,
    keyHash: hashOf(key),
    plan: 'free',
  })
  await revoke(key)
  expect(await findSession(keys, { owner: ALICE })).toEqual({ kind: 'none' })
})

test("without the store, an edge gets a key's true state straight from the database", async () => {
  const before = await mint()
  const after = await rotated(before)
  const request = (key: string) => lookUp(keys, { account: parseKey(key)!.accountTag, keyHash: hashOf(key) })
  expect(await request(after)).toEqual({ kind: 'active', plan: 'free', planVersion: 2, overage: false, extra: 0 })
  expect(await request(before)).toEqual({ kind: 'dead' })
  const foreign = { account: parseKey(await mint(MALLORY))!.accountTag, keyHash: hashOf(after) }
  expect(await lookUp(keys, foreign)).toEqual({ kind: 'dead' })
})

test("an operator ends any key by its id, a guest's too, and the device gets a new one on the same account", async () => {
  const device = { deviceId: 'device-1', clientNetwork: '203.0.113.7' }
  const before = await mintGuest(keys, device)
  if (before.kind !== 'minted') throw new Error('not minted')
  const { keyId, accountTag } = parseKey(before.key)!
  expect(await revokeKeyById(keys, { keyId })).toEqual({ kind: 'revoked', account: accountTag })
  expect(await keys.admission.authenticate(before.key)).toEqual({ kind: 'deny' })
  expect(await revokeKeyById(keys, { keyId: 'nobodys0' })).toEqual({ kind: 'unknown' })

  const after = await mintGuest(keys, device)
  if (after.kind !== 'minted') throw new Error('not minted')
  expect(after.key).not.toBe(before.key)
  expect(parseKey(after.key)!.accountTag).toBe(accountTag)
})
