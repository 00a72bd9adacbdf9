import { randomUUID } from 'node:crypto'
import { parseKey } from '@gateway/contracts/api-key'
import { groups, subjects } from '@gateway/contracts/subjects'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { admitOnce, admitUntilRefused } from '../../test/edge.ts'
import { hashOf, openKeysService, type TestKeys } from '../../test/keys-service.ts'
import { call } from '../../test/projects.ts'
import { noteUse } from '../db/keys.ts'
import { setPlan, topUp } from './bus-commands.ts'
import { lookUp } from '../handlers/look-up.ts'
import { reconcile } from './reconcile.ts'

let postgres: PostgresServer
let keys: TestKeys
let project_id: string
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  keys = await openKeysService(postgres)
  project_id = (await call(keys, 'projects.create', { name: 'search' })).id
  await keys.bus.serve(subjects.meteringWarm, groups.metering, async () => Buffer.from('{"kind":"warmed"}'))
})
afterEach(() => keys[Symbol.asyncDispose]())

const create = (limits: object) => call(keys, 'apiKeys.create', { project_id, name: 'key', ...limits })
const patch = (api_key_id: string, limits: object) => call(keys, 'apiKeys.patch', { project_id, api_key_id, ...limits })
const MINUTE_MS = 61_000

test('a changed limit holds for the next request after the reply', async () => {
  const { id, value } = await create({ max_requests_per_1_minute: 3 })
  expect(await admitUntilRefused(keys, value)).toEqual({ admitted: 3, refusal: 'requests key' })
  await patch(id, { max_requests_per_1_minute: 5 })
  expect(await admitUntilRefused(keys, value)).toEqual({ admitted: 2, refusal: 'requests key' })
  await patch(id, { max_requests_per_1_minute: null })
  expect(await admitUntilRefused(keys, value)).toEqual({ admitted: 95, refusal: 'requests account' })
})

test('a rotated key goes on with the counts of its former value', async () => {
  const { id: api_key_id, value: before } = await create({ max_requests_per_1_minute: 5, monthly_limit: 0.01 })
  for (let times = 0; times < 3; times++) await admitOnce(keys, before)
  const { value } = await call(keys, 'apiKeys.rotate', { project_id, api_key_id })
  expect(await admitUntilRefused(keys, value)).toEqual({ admitted: 2, refusal: 'requests key' })
  keys.admission.pass(MINUTE_MS)
  // A hundredth of a token is ten milli-tokens; five of them are taken.
  expect(await admitUntilRefused(keys, value)).toEqual({ admitted: 5, refusal: expect.stringMatching(/ key$/) })
  expect(await admitUntilRefused(keys, before)).toEqual({ admitted: 0, refusal: 'key dead' })
})

test("an expired key is refused by the store's clock, and a later expiry brings it back", async () => {
  const { id, value } = await create({ expires_in_seconds: 60 })
  expect((await admitOnce(keys, value)).kind).toBe('allow')
  keys.admission.pass(MINUTE_MS)
  expect(await admitOnce(keys, value)).toEqual({ kind: 'deny', reason: 'key' })
  await patch(id, { expires_in_seconds: 600 })
  expect((await admitOnce(keys, value)).kind).toBe('allow')
})

test('models, and the person who owns the key, reach the edge with its next request', async () => {
  const { id, value } = await create({ models: ['svc-core'] })
  const policy = async () => {
    await admitOnce(keys, value)
    const account = parseKey(value)!.accountTag
    const decision = await keys.admission.store().admit({
      requestId: randomUUID(),
      account,
      keyHash: hashOf(value),
      planHint: null,
      planIncludesModel: true,
      limits: { requestsPerMinute: 1, tokensPerMinute: 1, requestsPerDay: null, allowance: 1 },
      usualTokens: 1,
      worstCharge: 1,
      leaseMs: 1_000,
    })
    return decision.kind === 'plan' ? JSON.parse(decision.policy!.key) : decision
  }
  expect(await policy()).toEqual({ models: ['svc-core'], userId: null })
  await patch(id, { models: ['svc-fast'] })
  expect(await policy()).toEqual({ models: ['svc-fast'], userId: null })
})

test('the plan and the top-ups of a project change as those of an account do', async () => {
  const { value } = await create({})
  const subject = project_id.slice(5)
  expect(await setPlan(keys, { subject, plan: 'pro' })).toMatchObject({ kind: 'account', account: { kind: 'project' } })
  expect(await keys.admission.authenticate(value)).toMatchObject({ kind: 'active', plan: 'pro' })
  await topUp(keys, { id: randomUUID(), subject, amount: 5 })
  expect(await keys.admission.authenticate(value)).toMatchObject({ extra: 5_000 })
  expect(await keys.database.query('select from keys.outbox')).toMatchObject({ rows: [] })
})

test('a monthly limit in another unit than the new plan admits nothing until it is set again', async () => {
  const { id, value } = await create({ monthly_limit: 1_000 })
  const unlimited = await create({})
  expect((await admitOnce(keys, value)).kind).toBe('allow')
  await setPlan(keys, { subject: project_id.slice(5), plan: 'payg' })
  expect(await admitOnce(keys, value)).toMatchObject({ kind: 'deny', reason: 'allowance', scope: 'key' })
  expect((await admitOnce(keys, unlimited.value)).kind).toBe('allow')
  await patch(id, { monthly_limit: 5 })
  expect((await admitOnce(keys, value)).kind).toBe('allow')
  const reply = await lookUp(keys, { account: parseKey(value)!.accountTag, keyHash: hashOf(value) })
  expect(reply).toMatchObject({ kind: 'active', limits: { monthly: 5_000_000_000 } })
})

test('the list shows when a named key was last used', async () => {
  const { id: api_key_id } = await create({})
  const usedAtMs = Date.parse('2026-03-01T12:00:00.500Z')
  await noteUse(keys.database, [{ keyId: api_key_id.slice(4), usedAtMs }])
  await noteUse(keys.database, [{ keyId: api_key_id.slice(4), usedAtMs: usedAtMs - 5_000 }])
  const key = await call(keys, 'apiKeys.retrieve', { project_id, api_key_id })
  expect(key.last_used_at).toBe(Math.floor(usedAtMs / 1_000))
})

test('reconcile finds limits, and keys of projects, that the store has otherwise, and writes the right ones', async () => {
  const { id, value } = await create({ max_requests_per_1_minute: 1 })
  const { value: dead } = await create({})
  const drifts = async (repair: boolean) => (await reconcile(keys, { after: null, repair }, 1)).drifts
  expect(await drifts(false)).toEqual([])
  await keys.database.query(
    'update keys.project_keys set requests_per_minute = 2, version = version + 5 where key_id = $1',
    [id.slice(4)],
  )
  await keys.database.query('update keys.project_keys set deactivated_at = now() where hash = $1', [
    Buffer.from(hashOf(dead), 'base64url'),
  ])
  expect((await drifts(false)).map(({ kind }) => kind)).toEqual(['key', 'key'])
  expect((await drifts(true)).map(({ repaired }) => repaired)).toEqual([true, true])
  expect(await drifts(false)).toEqual([])
  expect((await admitUntilRefused(keys, value)).admitted).toBe(2)
  expect((await admitOnce(keys, dead)).kind).toBe('deny')
})

test('reconcile puts limits right that outran a restored table', async () => {
  const { id, value } = await create({ max_requests_per_1_minute: 1 })
  await patch(id, { max_requests_per_1_minute: 7 })
  await keys.database.query('update keys.project_keys set requests_per_minute = 1, version = version - 1')
  await keys.database.query('update keys.accounts set version = version - 1')
  const { drifts } = await reconcile(keys, { after: null, repair: true }, 1)
  expect(drifts.map(({ repaired }) => repaired)).toEqual([true, true])
  expect((await admitUntilRefused(keys, value)).admitted).toBe(1)
})
