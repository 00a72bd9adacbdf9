import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openKeysService, personCall, type TestKeys, minted } from '../../test/keys-service.ts'
import { call, refusalOf } from '../../test/projects.ts'

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => void (keys = await openKeysService(postgres)))
afterEach(() => keys[Symbol.asyncDispose]())

const OWNER = personCall({ subject: 'olga', role: 'owner', name: 'Olga' })
const ANN = personCall({ subject: 'ann', name: 'Ann', email: 'ann@example.org' })
const TEAM = personCall({ subject: 'tom', groups: ['team/search'] })

/** The id of a person, who signs in with it. */
async function idOf(email: string): Promise<string> {
  return (await call(keys, 'users.list', { emails: [email] }, OWNER)).data[0]!.id
}

const project = async () => (await call(keys, 'projects.create', { name: 'Search' }, OWNER)).id

test('a person becomes a member by e-mail, then owner, and sees only the own projects', async () => {
  const project_id = await project()
  await project()
  expect((await call(keys, 'projects.list', {}, ANN)).data).toEqual([])
  expect(await refusalOf(keys, 'projects.retrieve', { project_id }, ANN)).toBe('NOT_FOUND')
  const member = await call(
    keys,
    'projectUsers.create',
    { project_id, email: 'Ann@example.org', role: 'member' },
    OWNER,
  )
  expect(member).toMatchObject({ email: 'ann@example.org', role: 'member' })
  expect((await call(keys, 'projects.list', {}, ANN)).data.map(({ id }) => id)).toEqual([project_id])
  const toOwner = { project_id, user_id: member.id, role: 'owner' }
  expect(await refusalOf(keys, 'projectUsers.update', toOwner, ANN)).toBe('FORBIDDEN')
  await call(keys, 'projectUsers.update', toOwner, OWNER)
  expect(await refusalOf(keys, 'projects.update', { project_id, name: 'Find' }, ANN)).toBe('done')
  expect((await call(keys, 'projectUsers.list', { project_id }, ANN)).data).toMatchObject([
    { id: member.id, role: 'owner' },
  ])
  expect(await refusalOf(keys, 'users.list', {}, ANN)).toBe('FORBIDDEN')
})

test('the end of a membership ends the keys of that person in the project', async () => {
  const project_id = await project()
  await refusalOf(keys, 'projects.list', {}, ANN)
  const { id: user_id } = await call(
    keys,
    'projectUsers.create',
    { project_id, email: 'ann@example.org', role: 'member' },
    OWNER,
  )
  const { value } = await call(keys, 'apiKeys.create', { project_id, name: 'mine' }, ANN)
  const kept = await call(keys, 'apiKeys.create', { project_id, name: 'other' }, OWNER)
  expect(await keys.admission.authenticate(value)).toMatchObject({ kind: 'active' })
  await call(keys, 'projectUsers.delete', { project_id, user_id }, OWNER)
  expect(await keys.admission.authenticate(value)).not.toMatchObject({ kind: 'active' })
  expect(await keys.admission.authenticate(kept.value)).toMatchObject({ kind: 'active' })
  expect(await refusalOf(keys, 'projectUsers.retrieve', { project_id, user_id }, OWNER)).toBe('NOT_FOUND')
  expect(await refusalOf(keys, 'projects.retrieve', { project_id }, ANN)).toBe('NOT_FOUND')
  const { data } = await call(keys, 'auditLogs.list', { limit: '2' }, OWNER)
  expect(data.map(({ type }) => type)).toEqual(['user.deleted', 'api_key.deleted'])
})

test('the end of a membership that is not confirmed is confirmed by the same call again', async () => {
  const project_id = await project()
  const { id: user_id } = await call(keys, 'me.retrieve', {}, ANN)
  await call(keys, 'projectUsers.create', { project_id, user_id, role: 'member' }, OWNER)
  const { value } = await call(keys, 'apiKeys.create', { project_id, name: 'mine' }, ANN)
  expect(await keys.admission.authenticate(value)).toMatchObject({ kind: 'active' })
  const end = () => refusalOf(keys, 'projectUsers.delete', { project_id, user_id }, OWNER)
  keys.admission.away = true
  expect(await end()).toBe('SERVICE_UNAVAILABLE')
  keys.admission.away = false
  expect(await end()).toBe('done')
  expect(await keys.admission.authenticate(value)).not.toMatchObject({ kind: 'active' })
  const { data } = await call(keys, 'auditLogs.list', { event_types: ['user.deleted'] }, OWNER)
  expect(data).toHaveLength(1)
  const { id: stranger } = await call(keys, 'me.retrieve', {}, TEAM)
  expect(await refusalOf(keys, 'projectUsers.delete', { project_id, user_id: stranger }, OWNER)).toBe('NOT_FOUND')
}, 60_000)

test('a group that several administrators create at once is one group, and one row of the audit log', async () => {
  const made = await Promise.all(
    Array.from({ length: 8 }, () => call(keys, 'groups.create', { name: 'team/new' }, OWNER)),
  )
  expect(new Set(made.map(({ id }) => id)).size).toBe(1)
  const { data } = await call(keys, 'auditLogs.list', { event_types: ['group.created'] }, OWNER)
  expect(data).toMatchObject([{ 'group.created': { id: made[0]!.id, data: { group_name: 'team/new' } } }])
})

test('a group gives its people a membership before the first of them signs in', async () => {
  const project_id = await project()
  const { id: group_id } = await call(keys, 'groups.create', { name: 'team/search' }, OWNER)
  expect(await call(keys, 'groups.create', { name: 'team/search' }, OWNER)).toMatchObject({ id: group_id })
  await call(keys, 'projectGroups.create', { project_id, group_id, role: 'member' }, OWNER)
  expect((await call(keys, 'projects.list', {}, TEAM)).data.map(({ id }) => id)).toEqual([project_id])
  const users = await call(keys, 'groupUsers.list', { group_id }, OWNER)
  expect(users.data).toMatchObject([{ name: 'tom' }])
  const person = { group_id, user_id: users.data[0]!.id }
  expect(await call(keys, 'groupUsers.retrieve', person, OWNER)).toMatchObject({ user_type: 'user' })
  await call(keys, 'projectGroups.delete', { project_id, group_id }, OWNER)
  expect(await refusalOf(keys, 'projects.retrieve', { project_id }, TEAM)).toBe('NOT_FOUND')
  expect((await call(keys, 'projectGroups.list', { project_id }, OWNER)).data).toEqual([])
})

test('the deletion of a person ends all keys and memberships; a later sign-in brings no access back', async () => {
  const project_id = await project()
  await refusalOf(keys, 'projects.list', {}, ANN)
  const user_id = await idOf('ann@example.org')
  await call(keys, 'projectUsers.create', { project_id, user_id, role: 'owner' }, OWNER)
  const named = await call(keys, 'apiKeys.create', { project_id, name: 'mine' }, ANN)
  const own = await minted(keys, { owner: { issuer: 'https://id.example', subject: 'ann' } })
  await call(keys, 'users.delete', { user_id }, OWNER)
  for (const key of [named.value, own.key]) {
    expect(await keys.admission.authenticate(key)).not.toMatchObject({ kind: 'active' })
  }
  expect(await refusalOf(keys, 'users.retrieve', { user_id }, OWNER)).toBe('NOT_FOUND')
  expect(await refusalOf(keys, 'projects.retrieve', { project_id }, ANN)).toBe('NOT_FOUND')
  expect(await idOf('ann@example.org')).toBe(user_id)
})

test('a role is changed at the identity provider only', async () => {
  await refusalOf(keys, 'projects.list', {}, ANN)
  const user_id = await idOf('ann@example.org')
  expect(await refusalOf(keys, 'users.update', { user_id, role: 'owner' }, OWNER)).toBe('VALIDATION_ERROR role')
  expect(await refusalOf(keys, 'users.update', { user_id }, OWNER)).toBe('done')
  const olga = (await call(keys, 'users.list', {}, OWNER)).data.find(({ role }) => role === 'owner')!
  const { data } = await call(keys, 'userRoles.list', { user_id: olga.id }, OWNER)
  expect(data.map(({ id }) => id)).toEqual(['role-organization-owner'])
  const roles = await call(keys, 'roles.list', { limit: '3' }, OWNER)
  expect(roles).toMatchObject({ has_more: true, next: 'role-project-member' })
  expect((await call(keys, 'roles.list', { after: roles.next! }, OWNER)).data).toHaveLength(1)
})

test('pages of people hold still while others sign in and are removed', async () => {
  for (let index = 0; index < 5; index++)
    await refusalOf(keys, 'projects.list', {}, personCall({ subject: `p${index}` }))
  const first = await call(keys, 'users.list', { limit: '2' })
  await call(keys, 'users.delete', { user_id: first.last_id! })
  await refusalOf(keys, 'projects.list', {}, personCall({ subject: 'late' }))
  const rest = await call(keys, 'users.list', { after: first.last_id! })
  expect(rest.data).toHaveLength(3)
  expect(rest.has_more).toBe(false)
})
