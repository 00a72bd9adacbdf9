import { parseKey } from '@gateway/contracts/api-key'
import type { MintGuestReply } from '@gateway/contracts/keys-api'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { countRows, hashOf, openKeysService, waitingMintRateLimiter, type TestKeys } from '../../test/keys-service.ts'
import { forgetOldNetworks } from '../db/guest-networks.ts'
import { fillTogether } from './fill.ts'
import { mintGuest } from './mint-guest.ts'

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => void (keys = await openKeysService(postgres)))
afterEach(() => keys[Symbol.asyncDispose]())

const NETWORK = '203.0.113.7'
const HOUR_MS = 3_600_000

const mint = (deviceId: string, clientNetwork = NETWORK) => mintGuest(keys, { deviceId, clientNetwork })

function keyOf(reply: MintGuestReply): string {
  if (reply.kind !== 'minted') throw new Error(`not minted: ${reply.kind}`)
  return reply.key
}

test('a device gets a well-formed key with the guest plan and its cap per day', async () => {
  const reply = await mint('device-1')
  const guestPlan = keys.config.current.plans.find(({ guest }) => guest)
  expect(reply).toEqual({
    kind: 'minted',
    key: expect.any(String),
    plan: 'guest-device',
    rateLimitPerDay: guestPlan?.perDay,
  })
  expect(parseKey(keyOf(reply))).not.toBeNull()
})

test('the same device gets the same key, at any number of requests at once', async () => {
  const networks = Array.from({ length: 50 }, (_, index) => `203.0.113.${index % 5}`)
  const replies = await Promise.all(networks.map((network) => mint('device-1', network)))
  expect(new Set(replies.map(keyOf)).size).toBe(1)
  expect(keyOf(await mint('device-1'))).toBe(keyOf(replies[0]!))
  expect(await countRows(keys.database, 'accounts')).toBe(1)
  expect(await countRows(keys.database, 'keys')).toBe(1)
})

test('a second request of the same device takes nothing from the cap on new ones', async () => {
  for (let times = 0; times < 30; times++) await mint('device-1')
  expect((await mint('device-2')).kind).toBe('minted')
})

test('of many new devices at once on one network exactly twenty get a key', async () => {
  const replies = await Promise.all(Array.from({ length: 60 }, (_, index) => mint(`device-${index}`)))
  expect(replies.filter(({ kind }) => kind === 'minted')).toHaveLength(20)
  expect(await countRows(keys.database, 'accounts')).toBe(20)
  expect((await mint('elsewhere', '198.51.100.1')).kind).toBe('minted')
})

test('a limited network receives the time to wait, and is admitted after it', async () => {
  for (let device = 0; device < 20; device++) await mint(`device-${device}`)
  const refused = await mint('device-20')
  if (refused.kind !== 'limited') throw new Error('not limited')
  expect(refused.retryAfterMs).toBeGreaterThan(HOUR_MS - 60_000)
  expect(refused.retryAfterMs).toBeLessThanOrEqual(HOUR_MS)

  await letTimePass(refused.retryAfterMs - 30_000)
  expect((await mint('device-20')).kind).toBe('limited')
  await letTimePass(30_000)
  expect((await mint('device-20')).kind).toBe('minted')
})

test('a device that was refused is remembered nowhere', async () => {
  for (let device = 0; device < 20; device++) await mint(`device-${device}`)
  await mint('device-20')
  expect(await countRows(keys.database, 'accounts')).toBe(20)
})

test('networks are forgotten an hour after their last new device', async () => {
  await mint('device-1')
  await forgetOldNetworks(keys.database)
  expect((await keys.database.query('select from keys.guest_networks')).rows).toHaveLength(1)
  await letTimePass(HOUR_MS + 1)
  await forgetOldNetworks(keys.database)
  expect((await keys.database.query('select from keys.guest_networks')).rows).toHaveLength(0)
})

test('neither the device id nor the network nor the key is stored in the clear', async () => {
  const key = keyOf(await mint('a-device-that-must-not-be-found'))
  const { rows } = await keys.database.query<{ row: string }>(
    `select to_jsonb(a)::text as row from keys.accounts a
     union all select to_jsonb(k)::text from keys.keys k
     union all select to_jsonb(n)::text from keys.guest_networks n`,
  )
  const text = rows.map(({ row }) => row).join('\n')
  for (const secret of ['a-device-that-must-not-be-found', NETWORK, key]) {
    expect(text).not.toContain(secret)
    expect(text).not.toContain(Buffer.from(secret).toString('hex'))
  }
})

test('a new key is known to the admission store at once', async () => {
  const key = keyOf(await mint('device-1'))
  expect(await keys.admission.authenticate(key)).toMatchObject({ kind: 'active', plan: 'guest-device' })
})

test('keys mints a key while the admission store is away, and fills it in when an edge requests it', async () => {
  keys.admission.away = true
  const key = keyOf(await mint('device-1'))
  keys.admission.away = false
  expect(await keys.admission.authenticate(key)).toEqual({ kind: 'miss' })
  const question = { account: parseKey(key)!.accountTag, keyHash: hashOf(key) }
  expect(await fillTogether(keys)(question)).toEqual({ kind: 'filled', plan: 'guest-device' })
  expect(await keys.admission.authenticate(key)).toMatchObject({ kind: 'active' })
})

test('a key that nobody owns is unknown, and so is a key under a foreign account', async () => {
  const [one, other] = [keyOf(await mint('device-1')), keyOf(await mint('device-2'))]
  const account = parseKey(one)!.accountTag
  expect(await fillTogether(keys)({ account, keyHash: hashOf('svc_nobody') })).toEqual({ kind: 'unknown' })
  expect(await fillTogether(keys)({ account, keyHash: hashOf(other) })).toEqual({ kind: 'unknown' })
})

async function letTimePass(ms: number): Promise<void> {
  // A process believes a refusal for a second only.
  keys.mintRateLimiter = waitingMintRateLimiter()
  await keys.database.query(
    `update keys.guest_networks
     set minted_at = (select array_agg(time - make_interval(secs => $1) order by time) from unnest(minted_at) time)`,
    [ms / 1000],
  )
}
