import { setTimeout as sleep } from 'node:timers/promises'
import { parseKey } from '@gateway/contracts/api-key'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openKeysService, personCall, type TestKeys, minted } from '../../test/keys-service.ts'
import { call, refusalOf } from '../../test/projects.ts'
import { archiveProject, lockProjectRow } from '../db/projects.ts'
import { mintGuest } from '../handlers/mint-guest.ts'

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => void (keys = await openKeysService(postgres)))
afterEach(() => keys[Symbol.asyncDispose]())

const create = (name: string) => call(keys, 'projects.create', { name })
const idsOf = (page: { data: { id: string }[] }) => page.data.map(({ id }) => id)

async function personalProject(subject: string): Promise<string> {
  await minted(keys, { owner: { issuer: 'https://id.example', subject } })
  return (await call(keys, 'projects.list', {}, personCall({ subject }))).data[0]!.id
}

test('a project is created on the default plan, or on the given one', async () => {
  expect(await create('search')).toEqual({
    id: expect.stringMatching(/^proj_[0-9A-Za-z]{8}$/),
    object: 'organization.project',
    name: 'search',
    created_at: expect.any(Number),
    archived_at: null,
    status: 'active',
    personal: false,
    plan: 'free',
  })
  expect(await call(keys, 'projects.create', { name: 'ads', plan: 'payg' })).toMatchObject({ plan: 'payg' })
  expect(await refusalOf(keys, 'projects.create', { name: 'x', plan: 'gold' })).toBe('VALIDATION_ERROR plan')
  expect(await refusalOf(keys, 'projects.create', { name: 'x', plan: 'guest-device' })).toBe('VALIDATION_ERROR plan')
})

test('a list has all projects and personal accounts, newest first, and no guests', async () => {
  const first = (await create('first')).id
  const personal = await personalProject('alice')
  await mintGuest(keys, { deviceId: 'device', clientNetwork: '203.0.113.7' })
  const last = (await create('last')).id
  const page = await call(keys, 'projects.list', {})
  expect(idsOf(page)).toEqual([last, personal, first])
  expect(page.data.map((one) => one.personal)).toEqual([false, true, false])
  expect(page).toMatchObject({ first_id: last, last_id: first, has_more: false })
})

test('pages stay as they are while projects are created and archived', async () => {
  const created: string[] = []
  for (let number = 0; number < 7; number++) created.push((await create(`project ${number}`)).id)
  const newestFirst = created.toReversed()
  const seen: string[] = []
  let after: string | undefined
  for (;;) {
    const page = await call(keys, 'projects.list', { limit: 3, include_archived: 'true', after })
    seen.push(...idsOf(page))
    if (!page.has_more) break
    after = page.last_id!
    await create('meanwhile')
    await call(keys, 'projects.archive', { project_id: after })
  }
  expect(seen).toEqual(newestFirst)
  expect(await refusalOf(keys, 'projects.list', { after: 'proj_nobodys0' })).toBe('VALIDATION_ERROR after')
})

test('a person without a role sees the own account and the projects of a membership, and a cursor reveals no other', async () => {
  const [mine, foreign] = [await create('mine'), await create('foreign')]
  const personal = await personalProject('alice')
  const alice = personCall({ subject: 'alice' })
  const { rows } = await keys.database.query<{ id: string }>(`select id from keys.users where subject = 'alice'`)
  await keys.database
    .insertInto('keys.project_users')
    .values({ account: mine.id.slice(5), user_id: rows[0]!.id, role: 'member' })
    .execute()
  expect(idsOf(await call(keys, 'projects.list', {}, alice))).toEqual([personal, mine.id])
  expect(await refusalOf(keys, 'projects.list', { after: foreign.id }, alice)).toBe('VALIDATION_ERROR after')
  expect(await refusalOf(keys, 'projects.retrieve', { project_id: foreign.id }, alice)).toBe('NOT_FOUND')
})

test('a project and a personal account can be renamed', async () => {
  const { id } = await create('search')
  expect(await call(keys, 'projects.update', { project_id: id, name: 'find' })).toMatchObject({ id, name: 'find' })
  const personal = await personalProject('alice')
  await call(keys, 'projects.update', { project_id: personal, name: "Alice's" })
  expect(await call(keys, 'projects.retrieve', { project_id: personal })).toMatchObject({
    name: "Alice's",
    personal: true,
  })
})

test('an archived project is listed on request, refuses changes, and archiving it again changes nothing', async () => {
  const { id: project_id } = await create('search')
  const archived = await call(keys, 'projects.archive', { project_id })
  expect(archived).toMatchObject({ status: 'archived', archived_at: expect.any(Number) })
  expect(await call(keys, 'projects.archive', { project_id })).toEqual(archived)
  expect(idsOf(await call(keys, 'projects.list', {}))).toEqual([])
  expect(idsOf(await call(keys, 'projects.list', { include_archived: 'true' }))).toEqual([project_id])
  expect(await refusalOf(keys, 'projects.update', { project_id, name: 'x' })).toBe('CONFLICT')
  expect(await refusalOf(keys, 'apiKeys.create', { project_id, name: 'x' })).toBe('CONFLICT')
  expect(await refusalOf(keys, 'serviceAccounts.create', { project_id, name: 'x' })).toBe('CONFLICT')
})

test('a call that waits while a project is archived finds it archived', async () => {
  const { id: project_id } = await create('search')
  const tag = project_id.slice(5)
  const waiting: Promise<string>[] = []
  await keys.database.transaction().execute(async (transaction) => {
    await lockProjectRow(transaction, tag)
    waiting.push(refusalOf(keys, 'apiKeys.create', { project_id, name: 'late' }))
    waiting.push(refusalOf(keys, 'projects.update', { project_id, name: 'late' }))
    await sleep(300)
    await archiveProject(transaction, tag, 2)
  })
  expect(await Promise.all(waiting)).toEqual(['CONFLICT', 'CONFLICT'])
})

test('a personal account can neither be archived nor have named keys', async () => {
  const project_id = await personalProject('alice')
  expect(await refusalOf(keys, 'projects.archive', { project_id })).toBe('CONFLICT')
  expect(await refusalOf(keys, 'apiKeys.create', { project_id, name: 'x' })).toBe('CONFLICT')
  expect(await refusalOf(keys, 'serviceAccounts.create', { project_id, name: 'x' })).toBe('CONFLICT')
})

test('a personal account shows its developer key, which the owner and administrators revoke', async () => {
  const project_id = await personalProject('alice')
  const alice = personCall({ subject: 'alice', name: 'Alice' })
  const { key } = await minted(keys, { owner: { issuer: 'https://id.example', subject: 'alice' } })
  const page = await call(keys, 'apiKeys.list', { project_id }, alice)
  const api_key_id = `key_${parseKey(key)!.keyId}`
  expect(page).toMatchObject({
    data: [{ id: api_key_id, name: 'developer key', owner: { type: 'user', user: { name: 'Alice', role: 'owner' } } }],
    has_more: false,
  })
  expect((await call(keys, 'apiKeys.list', { project_id, after: api_key_id }, alice)).data).toEqual([])
  expect(await call(keys, 'apiKeys.retrieve', { project_id, api_key_id })).toEqual(page.data[0])
  expect(await refusalOf(keys, 'apiKeys.rotate', { project_id, api_key_id }, alice)).toBe('CONFLICT')
  expect(await refusalOf(keys, 'apiKeys.patch', { project_id, api_key_id, name: 'x' }, alice)).toBe('CONFLICT')
  expect(await refusalOf(keys, 'apiKeys.delete', { project_id, api_key_id }, personCall({ subject: 'eve' }))).toBe(
    'NOT_FOUND',
  )
  const deleted = { id: api_key_id, object: 'organization.project.api_key.deleted', deleted: true }
  expect(await call(keys, 'apiKeys.delete', { project_id, api_key_id })).toEqual(deleted)
  expect(await keys.admission.authenticate(key)).toEqual({ kind: 'deny' })
  expect((await call(keys, 'apiKeys.list', { project_id }, alice)).data).toEqual([])
  expect(await call(keys, 'apiKeys.delete', { project_id, api_key_id }, alice)).toEqual(deleted)
})

test('a project that nobody has is not found', async () => {
  for (const project_id of ['proj_nobodys0', 'search', 'proj_']) {
    expect(await refusalOf(keys, 'projects.retrieve', { project_id })).toBe('NOT_FOUND')
  }
})
