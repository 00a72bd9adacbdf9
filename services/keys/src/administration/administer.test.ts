import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { OPERATOR_CALL, openKeysService, personCall, type TestCaller, type TestKeys } from '../../test/keys-service.ts'
import { administer } from './administer.ts'

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => void (keys = await openKeysService(postgres)))
afterEach(() => keys[Symbol.asyncDispose]())

const authorize = (call: TestCaller, input: Record<string, unknown>) =>
  administer(keys, { operation: 'administrators.authorize', input, ...call })

test('a call that nobody serves is refused as not found', async () => {
  const reply = await administer(keys, { operation: 'projects.invent', input: {}, ...OPERATOR_CALL })
  expect(reply).toMatchObject({ kind: 'refused', code: 'NOT_FOUND' })
})

test('an unknown admin key opens nothing', async () => {
  const credential = { kind: 'admin_key' as const, hash: Buffer.alloc(32).toString('base64url') }
  const reply = await authorize({ ...OPERATOR_CALL, credential }, { for: 'projects.list' })
  expect(reply).toMatchObject({ kind: 'refused', code: 'INVALID_KEY' })
})

test('a service learns who the caller is and whether the caller may make a call', async () => {
  expect(await authorize(OPERATOR_CALL, { for: 'projects.create' })).toEqual({
    kind: 'done',
    output: { id: 'operator', role: 'owner' },
  })
  const reader = personCall({ subject: 'rita', role: 'reader' })
  expect(await authorize(reader, { for: 'projects.create' })).toMatchObject({ kind: 'refused', code: 'FORBIDDEN' })
  expect(await authorize(reader, { for: 'projects.list' })).toEqual({
    kind: 'done',
    output: { id: expect.stringMatching(/^user-/), role: 'reader' },
  })
})

test('a change that another service makes stands in the audit log, once its caller and its input are accepted', async () => {
  const change = (input: object) => ({ for: 'webhooks.enable', audited: input })
  const reader = personCall({ subject: 'rita', role: 'reader' })
  expect(await authorize(reader, change({ webhook: 'ops' }))).toMatchObject({ code: 'FORBIDDEN' })
  expect(await authorize(OPERATOR_CALL, change({ webhook: 1 }))).toMatchObject({ code: 'VALIDATION_ERROR' })
  expect(await authorize(OPERATOR_CALL, { for: 'webhooks.list' })).toMatchObject({ kind: 'done' })
  expect(await authorize(OPERATOR_CALL, change({ webhook: 'ops' }))).toMatchObject({ kind: 'done' })
  const logs = await administer(keys, { operation: 'auditLogs.list', input: {}, ...OPERATOR_CALL })
  expect(logs).toMatchObject({ output: { data: [{ type: 'webhook.enabled', 'webhook.enabled': { webhook: 'ops' } }] } })
})

test('a person keeps one id, with the claims of the last token', async () => {
  const first = await authorize(personCall({ subject: 'ann', email: 'a@example.org' }), { for: 'projects.list' })
  const groups = ['search', 'search', 'ads']
  const again = await authorize(personCall({ subject: 'ann', email: 'Ann@example.org', role: 'owner', groups }), {
    for: 'projects.list',
  })
  expect(again).toMatchObject({ output: { id: (first as { output: { id: string } }).output.id } })
  const users = await keys.database.selectFrom('keys.users').select(['email', 'role', 'groups']).execute()
  expect(users).toEqual([{ email: 'Ann@example.org', role: 'owner', groups: ['ads', 'search'] }])
  const named = await keys.database.selectFrom('keys.groups').select('name').orderBy('name').execute()
  expect(named.map(({ name }) => name)).toEqual(['ads', 'search'])
})

test('a caller without a role reads nothing of a foreign project, not even that it exists', async () => {
  await keys.database
    .insertInto('keys.accounts')
    .values({ tag: 'AAAAAAAA', kind: 'developer', issuer: 'https://id.example', subject: 'bob', plan: 'free' })
    .execute()
  const stranger = personCall({ subject: 'eve' })
  const ofProject = (project_id: string) => ({ for: 'projects.retrieve', project_id })
  const foreign = await authorize(stranger, ofProject('proj_AAAAAAAA'))
  const missing = await authorize(stranger, ofProject('proj_BBBBBBBB'))
  expect(foreign).toEqual({ kind: 'refused', code: 'NOT_FOUND', message: 'There is no project proj_AAAAAAAA' })
  expect(missing).toEqual({ kind: 'refused', code: 'NOT_FOUND', message: 'There is no project proj_BBBBBBBB' })
  expect(await authorize(personCall({ subject: 'bob' }), ofProject('proj_AAAAAAAA'))).toMatchObject({ kind: 'done' })
})

test('an id that the database cannot hold is refused, and the refusal names its parameter', async () => {
  const calls: [string, Record<string, unknown>, string][] = [
    ['projects.retrieve', { project_id: 'proj_\0' }, 'project_id'],
    ['projects.archive', { project_id: 'proj_\0' }, 'project_id'],
    ['apiKeys.delete', { project_id: 'proj_AAAAAAAA\0', api_key_id: 'key_AAAAAAAA' }, 'project_id'],
    ['accounts.retrieve', { account_id: 'proj_\0' }, 'account_id'],
    ['users.retrieve', { user_id: 'user-\0' }, 'user_id'],
    ['administrators.authorize', { for: 'projectViews.usage', project_id: 'proj_\0' }, 'project_id'],
    ['administrators.authorize', { for: 'overview.show', project_id: 'proj_\0' }, 'project_id'],
  ]
  for (const [operation, input, param] of calls) {
    const reply = await administer(keys, { operation, input, ...OPERATOR_CALL })
    expect({ operation, ...reply }).toMatchObject({ operation, kind: 'refused', code: 'VALIDATION_ERROR', param })
  }
})
