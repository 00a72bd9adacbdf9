import type { AdministrationCredential } from '@gateway/contracts/administration/envelope'
import { parseAdminKey } from '@gateway/contracts/admin-key'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  hashOf,
  OPERATOR_CALL,
  openKeysService,
  personCall,
  type TestCaller,
  type TestKeys,
} from '../../test/keys-service.ts'
import { call, refusalOf } from '../../test/projects.ts'

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => void (keys = await openKeysService(postgres)))
afterEach(() => keys[Symbol.asyncDispose]())

const OWNER = personCall({ subject: 'olga', role: 'owner', name: 'Olga', email: 'olga@example.org' })

function withKey(value: string): TestCaller {
  const credential: AdministrationCredential = { kind: 'admin_key', hash: hashOf(value) }
  return { ...OPERATOR_CALL, credential }
}

test('an admin key opens every call of an owner, and its value is shown once and never stored', async () => {
  const { value, ...made } = await call(keys, 'adminKeys.create', { name: 'terraform' }, OWNER)
  expect(`key_${parseAdminKey(value)!.keyId}`).toBe(made.id)
  expect(await call(keys, 'adminKeys.retrieve', { key_id: made.id }, withKey(value))).toMatchObject({
    id: made.id,
    name: 'terraform',
    owner: { name: 'Olga', role: 'owner' },
  })
  await expect
    .poll(() => call(keys, 'adminKeys.list', {}, OWNER))
    .toMatchObject({
      data: [
        { id: made.id, redacted_value: expect.stringMatching(/^svc_admin_.{8}…$/), last_used_at: expect.any(Number) },
      ],
    })
  const { rows } = await keys.database.query<{ text: string }>(
    `select row_to_json(key)::text as text from keys.admin_keys key
     union all select row_to_json(log)::text from keys.audit_log log`,
  )
  expect(rows).toHaveLength(2)
  for (const { text } of rows) expect(text).not.toContain(value.slice('svc_admin_'.length + 8))
})

test('a revoked admin key opens nothing from the reply on, and revoking again is the same reply', async () => {
  const { value, id } = await call(keys, 'adminKeys.create', { name: 'ci' }, OWNER)
  expect(await refusalOf(keys, 'projects.list', {}, withKey(value))).toBe('done')
  const gone = { id, object: 'organization.admin_api_key.deleted', deleted: true }
  expect(await call(keys, 'adminKeys.delete', { key_id: id }, withKey(value))).toEqual(gone)
  expect(await refusalOf(keys, 'projects.list', {}, withKey(value))).toBe('INVALID_KEY')
  expect(await call(keys, 'adminKeys.delete', { key_id: id }, OWNER)).toEqual(gone)
  expect(await refusalOf(keys, 'adminKeys.retrieve', { key_id: id }, OWNER)).toBe('NOT_FOUND')
  expect((await call(keys, 'adminKeys.list', {}, OWNER)).data).toEqual([])
})

test('an expired admin key opens nothing', async () => {
  const { value, expires_at } = await call(keys, 'adminKeys.create', { name: 'day', expires_in_seconds: 60 }, OWNER)
  expect(expires_at).toBeGreaterThan(Date.now() / 1_000)
  expect(await refusalOf(keys, 'projects.list', {}, withKey(value))).toBe('done')
  await keys.database.query(`update keys.admin_keys set expires_at = now()`)
  expect(await refusalOf(keys, 'projects.list', {}, withKey(value))).toBe('INVALID_KEY')
})

test('a reader sees admin keys and creates none; a person without a role sees none', async () => {
  const reader = personCall({ subject: 'rita', role: 'reader' })
  expect(await refusalOf(keys, 'adminKeys.list', {}, reader)).toBe('done')
  expect(await refusalOf(keys, 'adminKeys.create', { name: 'mine' }, reader)).toBe('FORBIDDEN')
  expect(await refusalOf(keys, 'adminKeys.list', {}, personCall({ subject: 'nina' }))).toBe('FORBIDDEN')
})

test('pages list each admin key once, while others are created and revoked', async () => {
  const made: string[] = []
  for (let key = 0; key < 7; key++) made.push((await call(keys, 'adminKeys.create', { name: `k${key}` })).id)
  const first = await call(keys, 'adminKeys.list', { limit: '3' })
  expect(first.data.map(({ id }) => id)).toEqual(made.slice(0, 3))
  await call(keys, 'adminKeys.delete', { key_id: first.last_id! })
  await call(keys, 'adminKeys.create', { name: 'late' })
  const rest = await call(keys, 'adminKeys.list', { after: first.last_id! })
  expect(rest.data.map(({ name }) => name)).toEqual(['k3', 'k4', 'k5', 'k6', 'late'])
  expect((await call(keys, 'adminKeys.list', { order: 'desc', limit: '2' })).data.map(({ name }) => name)).toEqual([
    'late',
    'k6',
  ])
  expect(await refusalOf(keys, 'adminKeys.list', { after: 'key_AAAAAAAA' })).toBe('VALIDATION_ERROR after')
})
