/**
 * People who leave a group or a project, in any order of sign-ins and changes. A named key lives as long as its owner may see the
 * project, as far as the gateway has been shown. A person's own key is untouched.
 */

import { operations } from '@gateway/contracts/administration/operations'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { minted, openKeysService, personCall, type TestKeys } from '../../test/keys-service.ts'
import { call, refusalOf, replyTo } from '../../test/projects.ts'
import { lockProjectRow } from '../db/projects.ts'

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => {
  postgres = await startPostgres()
  keys = await openKeysService(postgres)
})
afterAll(async () => {
  await keys[Symbol.asyncDispose]()
  await postgres[Symbol.asyncDispose]()
})

const STORIES = 15
const PEOPLE = 2
const PROJECTS = 2
const GROUPS = 2

const person = fc.nat(PEOPLE - 1)
const project = fc.nat(PROJECTS - 1)
const group = fc.nat(GROUPS - 1)
const act = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('create' as const), person, project }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('signIn' as const),
      person,
      groups: fc.uniqueArray(group, { maxLength: GROUPS }),
      isOwner: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
      hasRole: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
      hasGroups: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('addPerson' as const, 'removePerson'), person, project }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('addGroup' as const, 'removeGroup'), group, project }) },
)
type Act = typeof act extends fc.Arbitrary<infer Value> ? Value : never

interface Person {
  subject: string
  id: string
  groups: number[]
  isOwner: boolean
  ownKey: string
}
interface Project {
  id: string
  people: Set<number>
  groups: Set<number>
}
interface Key {
  value: string
  person: number
  project: number
  lives: boolean
}
interface Story {
  people: Person[]
  projects: Project[]
  /** The groups' ids, and the names in tokens. */
  groups: { id: string; name: string }[]
  keys: Key[]
}

async function beginStory(): Promise<Story> {
  const name = crypto.randomUUID()
  const people = Array.from({ length: PEOPLE }, async (_, index): Promise<Person> => {
    const subject = `${name} ${index}`
    const email = `${name}-${index}@example.org`
    await call(keys, 'projects.list', {}, personCall({ subject, email }))
    const { data } = await call(keys, 'users.list', { emails: [email] })
    const { key } = await minted(keys, { owner: { issuer: 'https://id.example', subject } })
    return { subject, id: data[0]!.id, groups: [], isOwner: false, ownKey: key }
  })
  const projects = Array.from({ length: PROJECTS }, async (_, index): Promise<Project> => {
    const { id } = await call(keys, 'projects.create', { name: `project ${index}` })
    return { id, people: new Set(), groups: new Set() }
  })
  const groups = Array.from({ length: GROUPS }, async (_, index) => {
    const { id } = await call(keys, 'groups.create', { name: `${name}/${index}` })
    return { id, name: `${name}/${index}` }
  })
  return {
    people: await Promise.all(people),
    projects: await Promise.all(projects),
    groups: await Promise.all(groups),
    keys: [],
  }
}

const BOTH = { hasRole: true, hasGroups: true }

function tokenOf({ people, groups }: Story, index: number, { hasRole, hasGroups } = BOTH) {
  const { subject, groups: held, isOwner } = people[index]!
  const email = `${subject.replace(' ', '-')}@example.org`
  const names = hasGroups ? held.map((one) => groups[one]!.name) : []
  return personCall({ subject, email, groups: names, role: hasRole && isOwner ? 'owner' : null, hasRole, hasGroups })
}

function hasAccess({ people, projects }: Story, personIndex: number, projectIndex: number): boolean {
  const { groups, isOwner } = people[personIndex]!
  const { people: members, groups: memberGroups } = projects[projectIndex]!
  return isOwner || members.has(personIndex) || groups.some((one) => memberGroups.has(one))
}

/** The model: the keys whose owners have lost the project die. A token without a claim shows nothing. */
function endLost(story: Story, isOf: (key: Key) => boolean): void {
  for (const key of story.keys) if (isOf(key) && !hasAccess(story, key.person, key.project)) key.lives = false
}

async function take(story: Story, one: Act): Promise<void> {
  const { people, projects, groups } = story
  switch (one.kind) {
    case 'create': {
      const { person: index, project: at } = one
      const input = { project_id: projects[at]!.id, name: 'named' }
      if (!hasAccess(story, index, at)) {
        expect(await refusalOf(keys, 'apiKeys.create', input, tokenOf(story, index))).toBe('NOT_FOUND')
        return
      }
      const { value } = await call(keys, 'apiKeys.create', input, tokenOf(story, index))
      story.keys.push({ value, person: index, project: at, lives: true })
      return
    }
    case 'signIn':
      if (one.hasGroups) people[one.person]!.groups = one.groups
      if (one.hasRole) people[one.person]!.isOwner = one.isOwner
      endLost(story, (key) => key.person === one.person)
      await call(keys, 'projects.list', {}, tokenOf(story, one.person, one))
      return
    case 'addPerson':
    case 'removePerson': {
      const { people: members, id: project_id } = projects[one.project]!
      const user_id = people[one.person]!.id
      if (one.kind === 'addPerson') {
        members.add(one.person)
        await call(keys, 'projectUsers.create', { project_id, user_id, role: 'member' })
      } else if (members.delete(one.person)) {
        // Also where a group still gives the project: an administrator has removed the person.
        for (const key of story.keys) {
          if (key.person === one.person && key.project === one.project) key.lives = false
        }
        await call(keys, 'projectUsers.delete', { project_id, user_id })
      }
      return
    }
    case 'addGroup':
    case 'removeGroup': {
      const { groups: memberGroups, id: project_id } = projects[one.project]!
      const group_id = groups[one.group]!.id
      if (one.kind === 'addGroup') {
        memberGroups.add(one.group)
        await call(keys, 'projectGroups.create', { project_id, group_id, role: 'member' })
      } else if (memberGroups.delete(one.group)) {
        endLost(story, (key) => key.project === one.project)
        await call(keys, 'projectGroups.delete', { project_id, group_id })
      }
    }
  }
}

async function checkAll({ keys: named, people, projects }: Story): Promise<void> {
  for (const { value, lives } of named) {
    expect((await keys.admission.authenticate(value)).kind === 'active').toBe(lives)
  }
  for (const { ownKey } of people) expect(await keys.admission.authenticate(ownKey)).toMatchObject({ kind: 'active' })
  const ended = { project_ids: projects.map(({ id }) => id), event_types: ['api_key.deleted'], limit: '100' }
  expect((await call(keys, 'auditLogs.list', ended)).data).toHaveLength(named.filter(({ lives }) => !lives).length)
}

test('for any order of sign-ins and changes, a named key lives as long as its owner may see the project', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 4, maxLength: 12 }), async (acts) => {
      const story = await beginStory()
      for (const one of acts) {
        await take(story, one)
        await checkAll(story)
      }
    }),
    { numRuns: STORIES },
  )
})

test('keys of a person who has left the group are dead when the sign-in that shows it is served', async () => {
  const { id: project_id } = await call(keys, 'projects.create', { name: 'Search' })
  const { id: group_id } = await call(keys, 'groups.create', { name: 'team/search' })
  await call(keys, 'projectGroups.create', { project_id, group_id, role: 'member' })
  const inTeam = personCall({ subject: 'ann', groups: ['team/search'] })
  const made = await Promise.all(
    ['one', 'two'].map((name) => call(keys, 'apiKeys.create', { project_id, name }, inTeam)),
  )
  const kept = await call(keys, 'apiKeys.create', { project_id, name: 'ours' })
  const others = await call(
    keys,
    'apiKeys.create',
    { project_id, name: 'his' },
    personCall({ subject: 'bob', groups: ['team/search'] }),
  )
  const left = personCall({ subject: 'ann', groups: ['team/maps'] })
  expect(await refusalOf(keys, 'projects.retrieve', { project_id }, left)).toBe('NOT_FOUND')
  for (const { value } of made) {
    expect(await keys.admission.authenticate(value)).not.toMatchObject({ kind: 'active' })
  }
  for (const { value } of [kept, others]) {
    expect(await keys.admission.authenticate(value)).toMatchObject({ kind: 'active' })
  }
  const { data } = await call(keys, 'auditLogs.list', { project_ids: [project_id], event_types: ['api_key.deleted'] })
  const rows = data.map(({ 'api_key.deleted': details, before, request_id: requestId }) => {
    return { ...(details as { id: string }), before, requestId }
  })
  const { requestId } = left.origin
  const expected = made.map(({ id, name }) => ({ id, before: { name }, requestId }))
  expect(rows.toSorted(byId)).toEqual(expected.toSorted(byId))
})

test('a token without the claims ends no key and opens no project, and the next one with them does', async () => {
  const { id: project_id } = await call(keys, 'projects.create', { name: 'Maps' })
  const { id: group_id } = await call(keys, 'groups.create', { name: 'team/maps-only' })
  await call(keys, 'projectGroups.create', { project_id, group_id, role: 'member' })
  const inTeam = personCall({ subject: 'cyd', groups: ['team/maps-only'] })
  const { value } = await call(keys, 'apiKeys.create', { project_id, name: 'nightly' }, inTeam)
  const fewerScopes = personCall({ subject: 'cyd', hasRole: false, hasGroups: false })
  expect(await refusalOf(keys, 'projects.retrieve', { project_id }, fewerScopes)).toBe('NOT_FOUND')
  expect(await keys.admission.authenticate(value)).toMatchObject({ kind: 'active' })
  await call(keys, 'projects.list', {}, personCall({ subject: 'cyd', groups: [] }))
  expect(await keys.admission.authenticate(value)).not.toMatchObject({ kind: 'active' })
})

/** Until so many statements wait for a lock, or the act is over. */
async function untilWaiting(count: number, act: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  void act.finally(() => over.abort())
  for (let waiting = 0; waiting < count && !over.signal.aborted;) {
    const { rows } = await keys.database.query<{ waiting: number }>(`
      select count(*)::int as waiting from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`)
    waiting = rows[0]!.waiting
  }
}

test.each([
  ['projectUsers.delete', 'first'],
  ['projectUsers.delete', 'last'],
  ['projectGroups.delete', 'first'],
  ['projectGroups.delete', 'last'],
  ['users.delete', 'first'],
  ['users.delete', 'last'],
] as const)(
  'a key that a member makes at the moment of %s, which comes %s, does not live on',
  async (ending, order) => {
    const [subject, group] = [crypto.randomUUID(), crypto.randomUUID()]
    const isByGroup = ending === 'projectGroups.delete'
    const member = personCall({ subject, groups: isByGroup ? [group] : [] })
    const { id: user_id } = await call(keys, 'me.retrieve', {}, member)
    const { id: project_id } = await call(keys, 'projects.create', { name: 'Search' })
    const { id: group_id } = await call(keys, 'groups.create', { name: group })
    if (isByGroup) await call(keys, 'projectGroups.create', { project_id, group_id, role: 'member' })
    else await call(keys, 'projectUsers.create', { project_id, user_id, role: 'member' })

    const make = () => replyTo(keys, 'apiKeys.create', { project_id, name: 'late' }, member)
    const ids = { project_id, user_id, group_id }
    const named = Object.entries(ids).filter(([name]) => operations[ending].path.includes(`{${name}}`))
    const end = () => replyTo(keys, ending, Object.fromEntries(named))
    const acts: Promise<unknown>[] = []
    await keys.database.transaction().execute(async (transaction) => {
      await lockProjectRow(transaction, project_id.slice('proj_'.length))
      for (const act of order === 'first' ? [end, make] : [make, end]) {
        acts.push(act())
        await untilWaiting(acts.length, acts.at(-1)!)
      }
    })
    await Promise.all(acts)
    expect((await call(keys, 'apiKeys.list', { project_id, owner_project_access: 'any' })).data).toEqual([])
  },
)

const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1)
