/**
 * The views of projects, and the previews of changes, on a real database.
 */

import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { admitOnce } from '../../test/edge.ts'
import { minted, OPERATOR_CALL, openKeysService, personCall, type TestKeys } from '../../test/keys-service.ts'
import { call, refusalOf, replyTo } from '../../test/projects.ts'
import { noteSpending } from '../db/spending.ts'

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => void (keys = await openKeysService(postgres)))
afterEach(() => keys[Symbol.asyncDispose]())

const ISSUER = 'https://id.example'
const create = async (name: string, plan?: string) => (await call(keys, 'projects.create', { name, plan })).id
const spend = async (project: string, tokens: number, dollars = 0) => {
  const { window } = await keys.admission.currentWindow()
  const total = { account: project.slice(5), window, milliTokens: tokens * 1_000, nanoUsd: dollars * 1e9 }
  await noteSpending(keys.database, [total])
}
const namesOf = (page: { data: { name: string | null }[] }) => page.data.map(({ name }) => name)
const free = () => keys.config.current.plans.find(({ slug }) => slug === 'free')!

async function userIdOf(subject: string): Promise<string> {
  return (await call(keys, 'me.retrieve', {}, personCall({ subject }))).id
}

test('a person learns the own role, the own account and the number of the own projects', async () => {
  const alice = personCall({ subject: 'alice' })
  expect(await call(keys, 'me.retrieve', {}, alice)).toMatchObject({
    role: null,
    personal_project_id: null,
    projects: 0,
  })
  await minted(keys, { owner: { issuer: ISSUER, subject: 'alice' } })
  const [mine, archived] = [await create('mine'), await create('archived')]
  await create('foreign')
  const user_id = await userIdOf('alice')
  for (const project_id of [mine, archived]) {
    await call(keys, 'projectUsers.create', { project_id, user_id, role: 'member' })
  }
  await call(keys, 'projects.archive', { project_id: archived })
  const me = await call(keys, 'me.retrieve', {}, alice)
  expect(me).toMatchObject({ id: user_id, personal_project_id: expect.stringMatching(/^proj_/), projects: 1 })
  expect(await call(keys, 'me.retrieve', {}, personCall({ subject: 'olga', role: 'owner' }))).toMatchObject({
    role: 'owner',
    projects: 0,
  })
})

test('a project shows its spending against the limit that refuses: the plan with top-ups, or a lower spend limit', async () => {
  const project_id = await create('search')
  await spend(project_id, 1_500)
  const show = () => call(keys, 'projectViews.retrieve', { project_id })
  const { limit } = free()
  expect(await show()).toMatchObject({ unit: 'tokens', spent: 1_500, limit, limit_of: 'plan', status: 'active' })
  await call(keys, 'accounts.topUp', { account_id: project_id, id: crypto.randomUUID(), amount: 250 })
  expect(await show()).toMatchObject({ limit: limit + 250, limit_of: 'plan' })
  await call(keys, 'spendLimit.update', { project_id, allowance: 2_000 })
  expect(await show()).toMatchObject({ limit: 2_000, limit_of: 'spend_limit' })
  await call(keys, 'accounts.update', { account_id: project_id, overage: true })
  expect(await show()).toMatchObject({ limit: 2_000, limit_of: 'spend_limit', overage: true })
  await call(keys, 'spendLimit.delete', { project_id })
  expect(await show()).toMatchObject({ limit: null, limit_of: null })
  await call(keys, 'accounts.update', { account_id: project_id, suspended: true })
  expect(await show()).toMatchObject({ status: 'suspended' })
  const paid = await create('ads', 'payg')
  await spend(paid, 0, 12)
  await call(keys, 'spendLimit.update', { project_id: paid, threshold_amount: 2_500 })
  expect(await call(keys, 'projectViews.retrieve', { project_id: paid })).toMatchObject({
    unit: 'usd',
    spent: 12,
    limit: 25,
  })
})

/** An owner of the project, on a plan that lets owners switch overage so. */
async function ownerOn(ownersSwitchOverage: 'limited' | 'always' | undefined) {
  for (const plan of keys.config.current.plans) Object.assign(plan, { ownersSwitchOverage })
  const project_id = await create('owned')
  const ada = personCall({ subject: 'ada' })
  await call(keys, 'projectUsers.create', { project_id, user_id: await userIdOf('ada'), role: 'owner' })
  const turn = async (overage: boolean, by = ada) => {
    const reply = await replyTo(keys, 'projectViews.update', { project_id, overage }, by)
    return reply.kind === 'done' ? 'done' : `${reply.code}: ${reply.message}`
  }
  const show = (by = ada) => call(keys, 'projectViews.retrieve', { project_id }, by)
  return { project_id, ada, turn, show }
}

test("an owner switches a project's overage where the plan lets owners, audited in the owner's name", async () => {
  const { turn, show } = await ownerOn('always')
  const { limit } = free()
  expect(await show()).toMatchObject({ overage: false, limit, overage_switch: { beyond: limit, up_to: null } })
  expect(await turn(true)).toBe('done')
  expect(await turn(true)).toBe('done')
  expect(await show()).toMatchObject({ overage: true, limit: null, overage_switch: { beyond: limit, up_to: null } })
  expect(await turn(false)).toBe('done')
  const { data } = await call(keys, 'auditLogs.list', { event_types: ['account.updated'] })
  const ofAda = { actor: { session: { user: { id: await userIdOf('ada') } } } }
  expect(data).toMatchObject([
    { ...ofAda, before: { overage: true }, after: { overage: false } },
    { ...ofAda, before: { overage: false }, after: { overage: true } },
  ])
  expect(data).toHaveLength(2)
})

test('on a plan that says nothing, an owner is refused with the next step, and an operator switches as before', async () => {
  const { turn, show } = await ownerOn(undefined)
  expect(await turn(true)).toMatch(/^FORBIDDEN: The plan free leaves overage to the operator: ask/)
  expect(await show()).toMatchObject({ overage: false, overage_switch: null })
  expect(await turn(true, OPERATOR_CALL)).toBe('done')
  expect(await turn(false)).toMatch(/^FORBIDDEN/)
})

test('on a plan with limited overage, an owner switches it on below a spend limit alone, and off at any time', async () => {
  const { project_id, turn, show } = await ownerOn('limited')
  expect(await turn(true)).toMatch(/^FORBIDDEN: .*ask the operator to set the project's spend limit first/)
  expect(await show()).toMatchObject({ overage_switch: null })
  const { limit } = free()
  await call(keys, 'spendLimit.update', { project_id, allowance: limit * 2 })
  expect(await show()).toMatchObject({ limit, overage_switch: { beyond: limit, up_to: limit * 2 } })
  expect(await turn(true)).toBe('done')
  expect(await show()).toMatchObject({ limit: limit * 2, limit_of: 'spend_limit' })
  await call(keys, 'spendLimit.delete', { project_id })
  expect(await turn(false)).toBe('done')
  expect(await turn(true)).toMatch(/^FORBIDDEN/)
})

test('nobody but owners switches overage, each on the own account too, and an archived project keeps its own', async () => {
  const { project_id, turn, show } = await ownerOn('always')
  const [bob, rita] = [personCall({ subject: 'bob' }), personCall({ subject: 'rita', role: 'reader' })]
  expect(await turn(true, bob)).toMatch(/^NOT_FOUND/)
  await call(keys, 'projectUsers.create', { project_id, user_id: await userIdOf('bob'), role: 'member' })
  expect(await turn(true, bob)).toMatch(/^FORBIDDEN/)
  expect(await turn(true, rita)).toMatch(/^FORBIDDEN/)
  for (const other of [bob, rita]) expect(await show(other)).toMatchObject({ overage: false, overage_switch: null })

  await minted(keys, { owner: { issuer: ISSUER, subject: 'bob' } })
  const { personal_project_id: own } = await call(keys, 'me.retrieve', {}, bob)
  expect(await call(keys, 'projectViews.update', { project_id: own, overage: true }, bob)).toMatchObject({
    overage: true,
  })

  await call(keys, 'projects.archive', { project_id })
  expect(await turn(true)).toMatch(/^CONFLICT/)
  expect(await show()).toMatchObject({ overage_switch: null })
})

test('an owner’s switch holds for the next request', async () => {
  const { project_id, turn } = await ownerOn('always')
  const { api_key: robot } = await call(keys, 'serviceAccounts.create', { project_id, name: 'ci' })
  const admits = async () => (await admitOnce(keys, robot!.value)).kind
  expect(await admits()).toBe('allow')
  const { window } = await keys.admission.currentWindow()
  const total = { account: project_id.slice(5), window, settled: 1e12, version: 1, included: [] }
  await keys.admission.store().applyTotal(total)
  expect(await admits()).toBe('deny')
  await turn(true)
  expect(await admits()).toBe('allow')
  await turn(false)
  expect(await admits()).toBe('deny')
})

test('the list begins with the projects that have used most of their limit', async () => {
  const [half, full, none] = [await create('half'), await create('full'), await create('none')]
  await create('unused')
  await spend(half, free().limit / 2)
  await spend(full, 10)
  await call(keys, 'spendLimit.update', { project_id: full, allowance: 10 })
  await call(keys, 'accounts.update', { account_id: none, overage: true })
  expect(namesOf(await call(keys, 'projectViews.list', { order: 'usage' }))).toEqual(['full', 'half', 'unused', 'none'])
})

test('projects are found by a part of their name and by their id, people without a role among their own alone', async () => {
  const [search] = [await create('Search team'), await create('ads'), await create('100% _ads')]
  await minted(keys, { owner: { issuer: ISSUER, subject: 'alice' } })
  const find = (input: object, by?: ReturnType<typeof personCall>) => call(keys, 'projectViews.list', input, by)
  expect(namesOf(await find({ search: 'ARCH' }))).toEqual(['Search team'])
  expect(namesOf(await find({ search: '% _' }))).toEqual(['100% _ads'])
  expect(namesOf(await find({ search: search.slice(0, 10) }))).toEqual(['Search team'])
  expect(namesOf(await find({ search: 'nothing' }))).toEqual([])
  expect(namesOf(await find({}))).toHaveLength(3)
  expect(namesOf(await find({ include_personal: 'true' }))).toHaveLength(4)
  const alice = personCall({ subject: 'alice' })
  expect(namesOf(await find({}, alice))).toEqual([])
  const user_id = await userIdOf('alice')
  await call(keys, 'projectUsers.create', { project_id: search, user_id, role: 'owner' })
  expect(await find({}, alice)).toMatchObject({ data: [{ name: 'Search team', your_role: 'owner' }] })
  const olga = personCall({ subject: 'olga', role: 'reader' })
  expect(namesOf(await find({ mine: 'true' }, olga))).toEqual([])
  expect((await find({}, olga)).data.map(({ your_role: role }) => role)).toEqual([null, null, null])
  expect(await refusalOf(keys, 'projectViews.list', { after: search }, personCall({ subject: 'bob' }))).toBe(
    'VALIDATION_ERROR after',
  )
})

test('the pages of a list, of any size and in either order, have each project once', async () => {
  const created = await Promise.all(Array.from({ length: 9 }, (_, index) => create(`project ${index}`)))
  // Equal shares, too.
  for (const [index, id] of created.entries()) if (index % 3 > 0) await spend(id, 10 * (index % 3))
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('newest', 'usage'), fc.integer({ min: 1, max: 10 }), async (order, limit) => {
      const complete = (await call(keys, 'projectViews.list', { order, limit: 100 })).data.map(({ id }) => id)
      expect(complete.toSorted()).toEqual(created.toSorted())
      const seen: string[] = []
      for (let after: string | null | undefined; after !== null;) {
        const page = await call(keys, 'projectViews.list', { order, limit, after })
        seen.push(...page.data.map(({ id }) => id))
        after = page.has_more ? page.last_id : null
      }
      expect(seen).toEqual(complete)
    }),
    { numRuns: 30 },
  )
})

test('a list goes on after a project that was archived, or renamed, since its page was read', async () => {
  for (const order of ['newest', 'usage']) {
    const ids = await Promise.all(Array.from({ length: 6 }, (_, index) => create(`${order} ${index}`)))
    for (const [index, id] of ids.entries()) await spend(id, 10 * index)
    const list = (input: object) => call(keys, 'projectViews.list', { order, search: order, limit: 2, ...input })
    const complete = (await list({ limit: 100 })).data.map(({ id }) => id)
    const first = await list({})
    await call(keys, 'projects.archive', { project_id: first.last_id! })
    const second = await list({ after: first.last_id! })
    await call(keys, 'projects.update', { project_id: second.last_id!, name: 'another name' })
    const third = await list({ after: second.last_id! })
    expect([first, second, third].flatMap(({ data }) => data.map(({ id }) => id))).toEqual(complete)
    expect(third.has_more).toBe(false)
  }
})

test('a preview counts the keys that would end, and the requests that run with them now', async () => {
  const project_id = await create('search')
  const robot = await call(keys, 'serviceAccounts.create', { project_id, name: 'nightly' })
  await userIdOf('alice')
  const user_id = await userIdOf('alice')
  await call(keys, 'projectUsers.create', { project_id, user_id, role: 'member' })
  const alice = personCall({ subject: 'alice' })
  const own = await call(keys, 'apiKeys.create', { project_id, name: 'laptop' }, alice)
  const dead = await call(keys, 'apiKeys.create', { project_id, name: 'dead' }, alice)
  await call(keys, 'apiKeys.delete', { project_id, api_key_id: dead.id })
  for (const value of [own.value, robot.api_key!.value, robot.api_key!.value]) {
    expect(await admitOnce(keys, value)).toMatchObject({ kind: 'allow' })
  }
  const preview = (input: object = {}) => call(keys, 'projectViews.preview', { project_id, ...input })
  expect(await preview()).toMatchObject({ keys: 2, open_requests: 3 })
  expect(await preview({ api_key_id: own.id })).toMatchObject({ keys: 1, open_requests: 1 })
  expect(await preview({ api_key_id: dead.id })).toMatchObject({ keys: 0, open_requests: 0 })
  expect(await preview({ service_account_id: robot.id })).toMatchObject({ keys: 1, open_requests: 2 })
  expect(await preview({ user_id })).toMatchObject({ keys: 1, open_requests: 1 })
  expect(await call(keys, 'users.preview', { user_id })).toMatchObject({ keys: 1, open_requests: 1, projects: 1 })
  expect(await refusalOf(keys, 'projectViews.preview', { project_id, user_id, api_key_id: own.id })).toBe(
    'VALIDATION_ERROR',
  )
  // Leases of 30 s, which a dead edge renews no more.
  keys.admission.pass(60_000)
  expect(await preview()).toMatchObject({ keys: 2, open_requests: 0 })
  keys.admission.away = true
  expect(await preview()).toMatchObject({ keys: 2, open_requests: null })
})

test('a preview of a group counts the keys of people without another way in, and just these end', async () => {
  const project_id = await create('search')
  const groups = await Promise.all(['search', 'ads'].map((name) => call(keys, 'groups.create', { name })))
  for (const { id: group_id } of groups)
    await call(keys, 'projectGroups.create', { project_id, group_id, role: 'member' })
  const people = {
    both: personCall({ subject: 'both', groups: ['search', 'ads'] }),
    search: personCall({ subject: 'search', groups: ['search'] }),
    member: personCall({ subject: 'member', groups: ['search'] }),
    owner: personCall({ subject: 'owner', groups: ['search'], role: 'owner' }),
  }
  const { id: user_id } = await call(keys, 'me.retrieve', {}, people.member)
  await call(keys, 'projectUsers.create', { project_id, user_id, role: 'member' })
  for (const [name, by] of Object.entries(people)) await call(keys, 'apiKeys.create', { project_id, name }, by)
  const group_id = groups[0]!.id
  expect(await call(keys, 'projectViews.preview', { project_id, group_id })).toMatchObject({
    keys: 1,
    open_requests: 0,
  })
  await call(keys, 'projectGroups.delete', { project_id, group_id })
  const left = namesOf(await call(keys, 'apiKeys.list', { project_id, owner_project_access: 'any' }))
  expect(new Set(left)).toEqual(new Set(['both', 'member', 'owner']))
})

test("a preview of a person counts the own account's key, too", async () => {
  const owner = { issuer: ISSUER, subject: 'alice' }
  const { key } = await minted(keys, { owner })
  const user_id = await userIdOf('alice')
  expect(await admitOnce(keys, key)).toMatchObject({ kind: 'allow' })
  expect(await call(keys, 'users.preview', { user_id })).toMatchObject({ keys: 1, open_requests: 1, projects: 0 })
  const [own] = (await call(keys, 'projectViews.list', { include_personal: 'true' })).data
  expect(await call(keys, 'projectViews.preview', { project_id: own!.id })).toMatchObject({ keys: 1, open_requests: 1 })
})

test('keys are found by a part of their name, by their beginning and by their ids', async () => {
  const project_id = await create('search')
  const nightly = await call(keys, 'apiKeys.create', { project_id, name: 'Nightly job' })
  const laptop = await call(keys, 'apiKeys.create', { project_id, name: 'laptop' })
  const find = async (input: object) => namesOf(await call(keys, 'apiKeys.list', { project_id, ...input }))
  expect(await find({ search: 'NIGHT' })).toEqual(['Nightly job'])
  expect(await find({ search: nightly.redacted_value })).toEqual(['Nightly job'])
  expect(await find({ search: laptop.id })).toEqual(['laptop'])
  expect(await find({ api_key_ids: [laptop.id, 'key_nobodys0'] })).toEqual(['laptop'])
  expect(await find({ search: '' })).toEqual(['laptop', 'Nightly job'])
})

test("the filters of a key list hold for a personal account's key, too", async () => {
  await minted(keys, { owner: { issuer: ISSUER, subject: 'alice' } })
  const alice = personCall({ subject: 'alice' })
  const { personal_project_id: project_id } = await call(keys, 'me.retrieve', {}, alice)
  const list = (input: object) => call(keys, 'apiKeys.list', { project_id, ...input }, alice)
  const find = async (input: object) => namesOf(await list(input))
  const { id, redacted_value: mask } = (await list({})).data[0]!
  for (const found of [{ search: 'DEVELOPER' }, { search: mask }, { search: id }, { api_key_ids: [id] }]) {
    expect(await find(found)).toEqual(['developer key'])
  }
  for (const other of [{ search: 'nightly' }, { search: 'key_nobodys0' }, { api_key_ids: ['key_nobodys0'] }]) {
    expect(await find(other)).toEqual([])
  }
})
