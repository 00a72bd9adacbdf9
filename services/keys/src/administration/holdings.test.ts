import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { minted, openKeysService, personCall, type TestKeys } from '../../test/keys-service.ts'
import { call, refusalOf } from '../../test/projects.ts'

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => void (keys = await openKeysService(postgres)))
afterEach(() => keys[Symbol.asyncDispose]())

const OWNER = personCall({ subject: 'olga', role: 'owner', name: 'Olga' })
const READER = personCall({ subject: 'rita', role: 'reader', name: 'Rita' })
const ANN = personCall({ subject: 'ann', name: 'Ann Lee', email: 'ann@example.org', groups: ['team/search'] })
const IDENTITY = { issuer: 'https://id.example', subject: 'ann' }

const newProject = async (name: string) => (await call(keys, 'projects.create', { name }, OWNER)).id

async function ann(): Promise<string> {
  await refusalOf(keys, 'projects.list', {}, ANN)
  return (await call(keys, 'users.list', { emails: ['ann@example.org'] }, OWNER)).data[0]!.id
}

test("a reader finds a person's live keys in every project, and the own one, page by page", async () => {
  const user_id = await ann()
  const project_id = await newProject('Search')
  await call(keys, 'projectUsers.create', { project_id, user_id, role: 'member' }, OWNER)
  const first = await call(keys, 'apiKeys.create', { project_id, name: 'first' }, ANN)
  const dead = await call(keys, 'apiKeys.create', { project_id, name: 'dead' }, ANN)
  await call(keys, 'apiKeys.create', { project_id, name: "Olga's" }, OWNER)
  await call(keys, 'apiKeys.delete', { project_id, api_key_id: dead.id }, OWNER)
  const own = await minted(keys, { owner: IDENTITY })

  const page = (query: Record<string, unknown>) => call(keys, 'userKeys.list', { user_id, ...query }, READER)
  const all = await page({})
  expect(all.data).toMatchObject([
    { name: 'developer key', project: { personal: true }, expires_at: null },
    { id: first.id, name: 'first', project: { id: project_id, name: 'Search', personal: false } },
  ])
  expect(own.key.startsWith(all.data[0]!.redacted_value.slice(0, 12))).toBe(true)
  expect(JSON.stringify(all)).not.toContain(first.value)

  const newest = await page({ limit: '1' })
  expect(newest).toMatchObject({ has_more: true, data: [{ name: 'developer key' }] })
  expect(await page({ limit: '1', after: newest.last_id })).toMatchObject({
    has_more: false,
    data: [{ name: 'first' }],
  })
  // A key that has ended meanwhile still marks its place.
  expect(await page({ after: dead.id })).toMatchObject({ data: [{ name: 'first' }] })
  expect(await refusalOf(keys, 'userKeys.list', { user_id, after: 'key_unknown' }, READER)).toBe(
    'VALIDATION_ERROR after',
  )
})

test('a reader sees the projects of a person by membership, by a group and the own one, with the role', async () => {
  const user_id = await ann()
  await minted(keys, { owner: IDENTITY })
  const named = await newProject('Named')
  const grouped = await newProject('Grouped')
  const archived = await newProject('Archived')
  await newProject('Foreign')
  for (const project_id of [named, archived]) {
    await call(keys, 'projectUsers.create', { project_id, user_id, role: 'owner' }, OWNER)
  }
  const { id: group_id } = await call(keys, 'groups.create', { name: 'team/search' }, OWNER)
  await call(keys, 'projectGroups.create', { project_id: grouped, group_id, role: 'member' }, OWNER)
  await call(keys, 'projects.archive', { project_id: archived }, OWNER)

  const all = await call(keys, 'userProjects.list', { user_id }, READER)
  expect(new Set(all.data.map(({ name, personal, role }) => `${name} ${personal} ${role}`))).toEqual(
    new Set(['Named false owner', 'Grouped false member', 'null true owner']),
  )
  const collected: string[] = []
  let after: string | null | undefined
  do {
    const page = await call(keys, 'userProjects.list', { user_id, limit: '1', ...(after && { after }) }, READER)
    collected.push(...page.data.map(({ id }) => id))
    after = page.has_more ? page.last_id : undefined
  } while (after)
  expect(collected).toEqual(all.data.map(({ id }) => id))
})

test('nobody without a role sees keys and projects of a person, and nobody those of a stranger', async () => {
  const user_id = await ann()
  for (const name of ['userKeys.list', 'userProjects.list'] as const) {
    expect(await refusalOf(keys, name, { user_id }, ANN)).toBe('FORBIDDEN')
    expect(await refusalOf(keys, name, { user_id: 'user-unknown' }, READER)).toBe('NOT_FOUND')
  }
})

test('people are found by a part of the name or of the email', async () => {
  await ann()
  await refusalOf(keys, 'projects.list', {}, READER)
  const found = async (search: string) =>
    (await call(keys, 'users.list', { search }, READER)).data.map(({ name }) => name)
  expect(await found('lee')).toEqual(['Ann Lee'])
  expect(await found('ANN@exa')).toEqual(['Ann Lee'])
  expect(await found('%')).toEqual([])
  expect(new Set(await found(''))).toEqual(new Set(['Ann Lee', 'Olga', 'Rita']))
})

test.each([
  ['Łukasz Öz', 'Łukasz@example.org'],
  ['İbrahim Şahin', 'İbrahim@example.org'],
  ['ΟΔΥΣΣΕΥΣ', 'ΟΔΥΣΣΕΥΣ@example.org'],
  ['Ἀθηνᾶ', 'info@ẞ.example'],
])('%s is found by the name and by the email as they are written', async (name, email) => {
  await call(keys, 'groups.create', { name }, personCall({ subject: crypto.randomUUID(), name, email, role: 'owner' }))
  const project_id = await newProject('Search')
  for (const filter of [{ search: name }, { search: email }, { emails: [email] }, { emails: ['other', email] }]) {
    const { data } = await call(keys, 'users.list', filter, READER)
    expect(data).toMatchObject([{ name, email }])
  }
  const change = { project_id, email, role: 'member' }
  expect(await call(keys, 'projectUsers.create', change, OWNER)).toMatchObject({ name, email })
  const { data } = await call(keys, 'auditLogs.list', { actor_emails: [email] }, READER)
  expect(data).toMatchObject([{ type: 'group.created' }])
})
