import type { KeyOwner } from '@gateway/contracts/developer-keys-api'
import { groups, subjects } from '@gateway/contracts/subjects'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { hashOf, OPERATOR_CALL, openKeysService, type TestKeys, minted } from '../test/keys-service.ts'
import { call } from '../test/projects.ts'
import { setOverage, setPlan, topUp } from './administration/bus-commands.ts'
import { revokeKey, revokeKeyById, rotateKey } from './handlers/developer-keys.ts'
import { mintGuest } from './handlers/mint-guest.ts'

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  keys = await openKeysService(postgres)
  await keys.bus.serve(subjects.meteringWarm, groups.metering, async () => Buffer.from('{"kind":"warmed"}'))
})
afterEach(() => keys[Symbol.asyncDispose]())

const ALICE: KeyOwner = { issuer: 'https://id.example', subject: 'alice' }
const { origin } = OPERATOR_CALL

const rows = async () => (await call(keys, 'auditLogs.list', { limit: '100' })).data.toReversed()
const types = async () => (await rows()).map(({ type }) => type)

test("a person's mint, rotation and revocation are in the audit log, each once, and a repeated call adds nothing", async () => {
  const first = await minted(keys, { owner: ALICE, origin })
  await minted(keys, { owner: ALICE, origin })
  const rotated = await rotateKey(keys, { owner: ALICE, keyHash: hashOf(first.key), origin })
  if (rotated.kind !== 'rotated') throw new Error(rotated.kind)
  await rotateKey(keys, { owner: ALICE, keyHash: hashOf(first.key), origin })
  await revokeKey(keys, { owner: ALICE, keyHash: hashOf(rotated.key), origin })
  await revokeKey(keys, { owner: ALICE, keyHash: hashOf(rotated.key), origin })
  expect(await types()).toEqual(['api_key.created', 'api_key.deleted', 'api_key.created', 'api_key.deleted'])
  const [row] = await rows()
  expect(row).toMatchObject({
    actor: { session: { user: { id: expect.stringMatching(/^user-/) }, ip_address: '203.0.113.7' } },
    project: { id: expect.stringMatching(/^proj_/) },
  })
  expect((await call(keys, 'users.list', {})).data).toHaveLength(1)
})

test("an operator's commands are in the audit log, with the values before and after", async () => {
  const { key } = await minted(keys, { owner: ALICE })
  await setPlan(keys, { subject: 'alice', plan: 'pro' })
  await setPlan(keys, { subject: 'alice', plan: 'pro' })
  await setOverage(keys, { subject: 'alice', overage: true })
  const topUpOf = { id: '0f8fad5b-d9cb-469f-a165-70867728950e', subject: 'alice', amount: 5 }
  await topUp(keys, topUpOf)
  await topUp(keys, topUpOf)
  await revokeKeyById(keys, { keyId: key.slice(4, 12) })
  const written = (await rows()).slice(1)
  expect(written.map(({ type }) => type)).toEqual([
    'account.updated',
    'account.updated',
    'account.updated',
    'api_key.deleted',
  ])
  expect(written[0]).toMatchObject({
    before: { plan: 'free' },
    after: { plan: 'pro' },
    actor: { session: { user: { id: 'operator' } } },
  })
})

test("guests' mints are not in the audit log", async () => {
  await mintGuest(keys, { deviceId: 'device-1', clientNetwork: '203.0.113.7' })
  expect(await rows()).toEqual([])
})
