import { isDeepStrictEqual } from 'node:util'
import { parseKey } from '@gateway/contracts/api-key'
import { keysInvalidated, type KeysInvalidated } from '@gateway/contracts/developer-keys-api'
import { subjects } from '@gateway/contracts/subjects'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { hashOf, OPERATOR_CALL, openKeysService, personCall, type TestKeys } from '../../test/keys-service.ts'
import { call, refusalOf } from '../../test/projects.ts'
import { fillTogether } from '../handlers/fill.ts'
import { revokeKeyById } from '../handlers/developer-keys.ts'
import { lookUp } from '../handlers/look-up.ts'

let postgres: PostgresServer
let keys: TestKeys
let project_id: string
/** Each event once, however often keys publishes it. */
let cuts: KeysInvalidated[]
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  keys = await openKeysService(postgres)
  project_id = (await call(keys, 'projects.create', { name: 'search' })).id
  cuts = []
  await keys.bus.listen(subjects.keysInvalidated, (word) => {
    const event = keysInvalidated.parse(JSON.parse(Buffer.from(word).toString()))
    if (!cuts.some((cut) => isDeepStrictEqual(cut, event))) cuts.push(event)
  })
})
afterEach(() => keys[Symbol.asyncDispose]())

type Limits = Partial<Record<'models' | 'monthly_limit' | 'expires_in_seconds' | 'max_requests_per_1_minute', unknown>>
const create = (name = 'key', limits: Limits = {}, by = OPERATOR_CALL) =>
  call(keys, 'apiKeys.create', { project_id, name, ...limits }, by)
const list = (input: object = {}) => call(keys, 'apiKeys.list', { project_id, ...input })
const stateOf = async (value: string) => (await keys.admission.authenticate(value)).kind
const lookUpOf = (value: string) => lookUp(keys, { account: parseKey(value)!.accountTag, keyHash: hashOf(value) })
const cutsBy = () => cuts.map(({ keyId, reason }) => `${keyId} ${reason}`)

/** A member of the project. */
async function member(subject: string, role: 'member' | 'owner' = 'member') {
  const by = personCall({ subject, name: `Name of ${subject}`, email: `${subject}@example.org` })
  await call(keys, 'projects.list', {}, by)
  const { rows } = await keys.database.query<{ id: string }>('select id from keys.users where subject = $1', [subject])
  const membership = { account: project_id.slice(5), user_id: rows[0]!.id, role }
  await keys.database.insertInto('keys.project_users').values(membership).execute()
  return { by, id: rows[0]!.id }
}

test("a member's key has its value in the response once, and its owner in the list", async () => {
  const { by, id } = await member('alice')
  const { value, ...created } = await create('batch', {}, by)
  const { keyId, accountTag } = parseKey(value)!
  expect(created).toEqual({
    id: `key_${keyId}`,
    object: 'organization.project.api_key',
    name: 'batch',
    redacted_value: `svc_${keyId}…`,
    created_at: expect.any(Number),
    last_used_at: null,
    expires_at: null,
    owner: {
      type: 'user',
      user: { id, name: 'Name of alice', email: 'alice@example.org', role: 'member', created_at: expect.any(Number) },
    },
    owner_project_access: 'active',
    models: null,
    monthly_limit: null,
    max_requests_per_1_minute: null,
    max_tokens_per_1_minute: null,
  })
  expect(`proj_${accountTag}`).toBe(project_id)
  expect((await list()).data).toEqual([created])
  expect(await call(keys, 'apiKeys.retrieve', { project_id, api_key_id: created.id })).toEqual(created)
  const { rows } = await keys.database.query('select * from keys.project_keys')
  expect(JSON.stringify(rows)).not.toContain(value)
})

test('a new key is known to the admission store at once', async () => {
  expect(await stateOf((await create()).value)).toBe('active')
})

test('limits are stored as given: models by their ids, each once, and null removes a limit', async () => {
  const aliased = { models: ['svc-core', 'svc-core', 'svc-fast'], monthly_limit: 1_000.5, expires_in_seconds: 60 }
  const { id: api_key_id, created_at, ...key } = await create('key', { ...aliased, max_requests_per_1_minute: 5 })
  expect(key).toMatchObject({
    models: ['svc-core', 'svc-fast'],
    monthly_limit: 1_000.5,
    max_requests_per_1_minute: 5,
    max_tokens_per_1_minute: null,
    expires_at: created_at + 60,
  })
  const patch = { project_id, api_key_id, name: 'other', models: null, monthly_limit: null, max_tokens_per_1_minute: 7 }
  const patched = await call(keys, 'apiKeys.patch', patch)
  expect(patched).toMatchObject({ name: 'other', models: null, monthly_limit: null, max_tokens_per_1_minute: 7 })
  expect(patched).toMatchObject({ max_requests_per_1_minute: 5, expires_at: key.expires_at })
  const endless = await call(keys, 'apiKeys.patch', { project_id, api_key_id, expires_in_seconds: null })
  expect(endless.expires_at).toBeNull()
  const again = await call(keys, 'apiKeys.update', { project_id, api_key_id, expires_in_seconds: 3_600 })
  expect(again.expires_at).toBeGreaterThanOrEqual(created_at + 3_600)
})

test('a model that the gateway does not have, and an amount that nobody can count, are refused by name', async () => {
  const refused = (limits: Limits) => refusalOf(keys, 'apiKeys.create', { project_id, name: 'x', ...limits })
  expect(await refused({ models: ['svc-core', 'gpt-99'] })).toBe('VALIDATION_ERROR models')
  expect(await refused({ monthly_limit: 1e300 })).toBe('VALIDATION_ERROR monthly_limit')
  expect(await refused({ monthly_limit: 1e-9 })).toBe('VALIDATION_ERROR monthly_limit')
  expect((await list()).data).toEqual([])
})

test('a deleted key is refused from the reply on, its streams are cut, and deleting it again does the same', async () => {
  const { id: api_key_id, value } = await create()
  const remove = () => call(keys, 'apiKeys.delete', { project_id, api_key_id })
  const deleted = { id: api_key_id, object: 'organization.project.api_key.deleted', deleted: true }
  expect(await remove()).toEqual(deleted)
  expect(await stateOf(value)).toBe('deny')
  expect(await lookUpOf(value)).toEqual({ kind: 'dead' })
  await expect.poll(cutsBy).toEqual([`${api_key_id.slice(4)} revoked`])
  expect(await remove()).toEqual(deleted)
  expect((await list()).data).toEqual([])
  expect(await refusalOf(keys, 'apiKeys.retrieve', { project_id, api_key_id })).toBe('NOT_FOUND')
  expect(await refusalOf(keys, 'apiKeys.rotate', { project_id, api_key_id })).toBe('NOT_FOUND')
})

test('a rotated key keeps its id, name and limits; its former value is dead at once, and open streams end well', async () => {
  const { value: before, ...created } = await create('batch', { max_requests_per_1_minute: 5 })
  const { value: after, ...rotated } = await call(keys, 'apiKeys.rotate', { project_id, api_key_id: created.id })
  expect(rotated).toEqual(created)
  expect(after).not.toBe(before)
  expect([await stateOf(before), await stateOf(after)]).toEqual(['deny', 'active'])
  expect(await lookUpOf(before)).toEqual({ kind: 'dead' })
  expect(await lookUpOf(after)).toMatchObject({
    kind: 'active',
    limits: { keyId: created.id.slice(4), requestsPerMinute: 5 },
  })
  await expect.poll(cutsBy).toEqual([`${created.id.slice(4)} rotated`])
  expect((await list()).data).toEqual([created])
})

test('the value of the last rotation is the one that works', async () => {
  const { id: api_key_id, value } = await create()
  const rotations = Array.from({ length: 5 }, () => call(keys, 'apiKeys.rotate', { project_id, api_key_id }))
  const values = [value, ...(await Promise.all(rotations)).map((rotated) => rotated.value)]
  const states = await Promise.all(values.map(stateOf))
  expect(states.filter((state) => state === 'active')).toHaveLength(1)
  expect(states.filter((state) => state === 'deny')).toHaveLength(5)
})

test('a member manages own keys, an owner those of all', async () => {
  const [alice, bob, olga] = [await member('alice'), await member('bob'), await member('olga', 'owner')]
  const { id: api_key_id } = await create('hers', {}, alice.by)
  const ofKey = { project_id, api_key_id }
  expect(await refusalOf(keys, 'apiKeys.patch', { ...ofKey, name: 'his' }, bob.by)).toBe('FORBIDDEN')
  expect(await refusalOf(keys, 'apiKeys.rotate', ofKey, bob.by)).toBe('FORBIDDEN')
  expect(await refusalOf(keys, 'apiKeys.delete', ofKey, bob.by)).toBe('FORBIDDEN')
  expect(await refusalOf(keys, 'apiKeys.retrieve', ofKey, bob.by)).toBe('done')
  expect(await refusalOf(keys, 'apiKeys.patch', { ...ofKey, name: 'still hers' }, alice.by)).toBe('done')
  expect(await refusalOf(keys, 'apiKeys.rotate', ofKey, olga.by)).toBe('done')
  expect(await refusalOf(keys, 'apiKeys.delete', ofKey, alice.by)).toBe('done')
})

test('a key of another project is not found', async () => {
  const other = await call(keys, 'projects.create', { name: 'other' })
  const { id: api_key_id } = await create()
  const ofKey = { project_id: other.id, api_key_id }
  expect(await refusalOf(keys, 'apiKeys.retrieve', ofKey)).toBe('NOT_FOUND')
  expect(await refusalOf(keys, 'apiKeys.patch', { ...ofKey, name: 'x' })).toBe('NOT_FOUND')
  expect(await refusalOf(keys, 'apiKeys.rotate', ofKey)).toBe('NOT_FOUND')
  expect(await refusalOf(keys, 'apiKeys.delete', ofKey)).toBe('NOT_FOUND')
})

test('pages of keys stay as they are while keys are created, rotated and deleted', async () => {
  const created: string[] = []
  for (let number = 0; number < 7; number++) created.push((await create(`key ${number}`)).id)
  const seen: string[] = []
  for (let after: string | undefined; ;) {
    const page = await list({ limit: 3, ...(after !== undefined && { after }) })
    seen.push(...page.data.map(({ id }) => id))
    if (!page.has_more) break
    after = page.last_id!
    await create('meanwhile')
    await call(keys, 'apiKeys.rotate', { project_id, api_key_id: seen[0]! })
    await call(keys, 'apiKeys.delete', { project_id, api_key_id: after })
  }
  expect(seen).toEqual(created.toReversed())
  expect(await refusalOf(keys, 'apiKeys.list', { project_id, after: 'key_nobodys0' })).toBe('VALIDATION_ERROR after')
})

test('the list distinguishes keys whose owner has left the project', async () => {
  const [alice, bob] = [await member('alice'), await member('bob')]
  const [hers, his, ours] = [await create('hers', {}, alice.by), await create('his', {}, bob.by), await create('ours')]
  await keys.database.deleteFrom('keys.project_users').where('user_id', '=', bob.id).execute()
  const idsOf = async (access: string) => (await list({ owner_project_access: access })).data.map(({ id }) => id)
  expect(await idsOf('active')).toEqual([ours.id, hers.id])
  expect(await idsOf('inactive')).toEqual([his.id])
  expect(await idsOf('any')).toEqual([ours.id, his.id, hers.id])
})

test('a service account has keys of its own, and deleting it ends them all at once', async () => {
  const robot = await call(keys, 'serviceAccounts.create', { project_id, name: 'robot' })
  expect(robot).toMatchObject({ object: 'organization.project.service_account', name: 'robot', role: 'member' })
  const ofRobot = { project_id, service_account_id: robot.id }
  const further = await call(keys, 'serviceAccounts.createKey', { ...ofRobot, name: 'second', expires_in_seconds: 60 })
  const values = [robot.api_key!.value, further.value]
  expect(further.expires_at).toBe(further.created_at + 60)
  expect(await Promise.all(values.map(stateOf))).toEqual(['active', 'active'])
  expect((await list()).data.map(({ owner }) => owner.service_account?.id)).toEqual([robot.id, robot.id])
  await call(keys, 'serviceAccounts.update', { ...ofRobot, name: 'robot 2', role: 'owner' })
  expect(await call(keys, 'serviceAccounts.retrieve', ofRobot)).toMatchObject({ name: 'robot 2', role: 'owner' })

  const remove = () => call(keys, 'serviceAccounts.delete', ofRobot)
  expect(await remove()).toEqual({
    id: robot.id,
    object: 'organization.project.service_account.deleted',
    deleted: true,
  })
  expect(await Promise.all(values.map(stateOf))).toEqual(['deny', 'deny'])
  await expect
    .poll(() => cutsBy().toSorted())
    .toEqual(values.map((value) => `${parseKey(value)!.keyId} revoked`).toSorted())
  expect((await remove()).deleted).toBe(true)
  expect(await refusalOf(keys, 'serviceAccounts.retrieve', ofRobot)).toBe('NOT_FOUND')
  expect(await refusalOf(keys, 'serviceAccounts.createKey', ofRobot)).toBe('NOT_FOUND')
  expect((await call(keys, 'serviceAccounts.list', { project_id })).data).toEqual([])
})

test('a service account can be created alone, and pages of them stay as they are', async () => {
  const create = async (name: string) =>
    call(keys, 'serviceAccounts.create', { project_id, name, create_service_account_only: true })
  const created = [await create('a'), await create('b'), await create('c')]
  expect(created.map(({ api_key: key }) => key)).toEqual([null, null, null])
  const first = await call(keys, 'serviceAccounts.list', { project_id, limit: 2 })
  await call(keys, 'serviceAccounts.delete', { project_id, service_account_id: first.last_id! })
  const second = await call(keys, 'serviceAccounts.list', { project_id, limit: 2, after: first.last_id! })
  expect([...first.data, ...second.data].map(({ name }) => name)).toEqual(['c', 'b', 'a'])
})

test('archiving a project of 500 keys refuses them all at the reply, and cuts their streams within a second', async () => {
  await create('first')
  await keys.database.query(
    `insert into keys.project_keys (key_id, account, hash, name, created_by, created_by_name, version)
     select lpad(n::text, 8, '0'), $1, sha256(n::text::bytea), 'n', 'operator', 'operator', 1
     from generate_series(1, 499) n`,
    [project_id.slice(5)],
  )
  const fill = fillTogether(keys)
  const account = project_id.slice(5)
  const { rows } = await keys.database.query<{ hash: Buffer }>('select hash from keys.project_keys')
  const hashes = rows.map(({ hash }) => hash.toString('base64url'))
  await Promise.all(hashes.map((keyHash) => fill({ account, keyHash })))
  const states = async () => {
    const held = await keys.admission.inspect(account)
    return new Map(held.keys.map(({ keyHash, active }) => [keyHash, active]))
  }
  expect([...(await states()).values()].filter(Boolean)).toHaveLength(500)
  await call(keys, 'projects.archive', { project_id })
  expect([...(await states()).values()].filter(Boolean)).toHaveLength(0)
  await expect.poll(() => cuts.length, { timeout: 1_000 }).toBe(500)
  expect(new Set(cuts.map(({ reason }) => reason))).toEqual(new Set(['revoked']))
  await Promise.all(hashes.map((keyHash) => fill({ account, keyHash })))
  expect([...(await states()).values()].filter(Boolean)).toHaveLength(0)
})

test('a fill writes the requested keys of a project alone', async () => {
  const [first] = [await create('one'), await create('two'), await create('three')]
  const account = project_id.slice(5)
  keys.admission.away = true
  await create('four')
  keys.admission.away = false
  const before = (await keys.admission.inspect(account)).keys.length
  await fillTogether(keys)({ account, keyHash: hashOf(first.value) })
  expect((await keys.admission.inspect(account)).keys).toHaveLength(before)
})

test('an expired key is dead in a look-up without the store, and the list shows when it expired', async () => {
  const { id: api_key_id, value } = await create('short', { expires_in_seconds: 60 })
  expect(await lookUpOf(value)).toMatchObject({ kind: 'active', limits: { expiresAtMs: expect.any(Number) } })
  await keys.database.query(`update keys.project_keys set expires_at = now() - interval '1 second'`)
  expect(await lookUpOf(value)).toEqual({ kind: 'dead' })
  expect((await list()).data.map(({ id }) => id)).toEqual([api_key_id])
  await call(keys, 'apiKeys.patch', { project_id, api_key_id, expires_in_seconds: null })
  expect(await lookUpOf(value)).toMatchObject({ kind: 'active', limits: { expiresAtMs: null } })
})

test('an operator revokes a named key by its id', async () => {
  const { id, value } = await create()
  const revoke = () => revokeKeyById(keys, { keyId: id.slice(4) })
  expect(await revoke()).toEqual({ kind: 'revoked', account: project_id.slice(5) })
  expect(await stateOf(value)).toBe('deny')
  expect(await revoke()).toEqual({ kind: 'revoked', account: project_id.slice(5) })
})
