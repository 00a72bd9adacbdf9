/**
 * Pages of every list with a cursor: page by page they have the items of the complete list, and nothing stands behind its last
 * one. A list goes on behind an item that was removed meanwhile.
 */

import { operations, type OperationsOf } from '@gateway/contracts/administration/operations'
import type { Operation } from '@gateway/contracts/administration/operation'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openKeysService, personCall, type TestKeys } from '../../test/keys-service.ts'
import { call } from '../../test/projects.ts'

type Name = OperationsOf<'keys'>
type Input = Record<string, unknown>

interface Listed {
  of: Input
  /** The removal of an item, and the parameter that names it. */
  removal?: [operation: Name, parameter: string]
}

interface Page {
  data: Input[]
  has_more: boolean
  last_id?: string | null
  next?: string | null
}

let postgres: PostgresServer
let keys: TestKeys
let lists: Partial<Record<Name, Listed>>
beforeAll(async () => {
  postgres = await startPostgres()
  keys = await openKeysService(postgres)
  lists = await fillLists()
})
afterAll(async () => {
  await keys[Symbol.asyncDispose]()
  await postgres[Symbol.asyncDispose]()
})

const NAMES: readonly Name[] = [
  'projects.list',
  'serviceAccounts.list',
  'apiKeys.list',
  'rateLimits.list',
  'projectSpendAlerts.list',
  'spendAlerts.list',
  'adminKeys.list',
  'users.list',
  'userKeys.list',
  'userProjects.list',
  'groups.list',
  'roles.list',
  'userRoles.list',
  'groupUsers.list',
  'projectUsers.list',
  'projectGroups.list',
  'auditLogs.list',
  'projectViews.list',
]

async function fillLists(): Promise<Partial<Record<Name, Listed>>> {
  const { id: project_id } = await call(keys, 'projects.create', { name: 'Search' })
  const alert = { notification_channel: { type: 'email', recipients: ['ops@example.org'] } }
  const personOf = (name: string) => personCall({ subject: name, email: `${name}@example.org`, groups: ['one'] })
  const [users, groups]: [string[], string[]] = [[], []]
  for (const name of ['one', 'two', 'three']) {
    const { id: user_id } = await call(keys, 'me.retrieve', {}, personOf(name))
    const { id: group_id } = await call(keys, 'groups.create', { name })
    users.push(user_id)
    groups.push(group_id)
    await call(keys, 'projectUsers.create', { project_id, user_id, role: 'member' })
    await call(keys, 'projectGroups.create', { project_id, group_id, role: 'member' })
    await call(keys, 'projects.create', { name })
    await call(keys, 'serviceAccounts.create', { project_id, name })
    await call(keys, 'apiKeys.create', { project_id, name }, personOf('one'))
    await call(keys, 'adminKeys.create', { name })
    await call(keys, 'projectSpendAlerts.create', { project_id, allowance: 5, ...alert })
    await call(keys, 'spendAlerts.create', { threshold_amount: 5, ...alert })
  }
  const owner = await call(keys, 'me.retrieve', {}, personCall({ subject: 'olga', role: 'owner' }))
  const ofProject = { project_id }
  return {
    'projects.list': { of: {}, removal: ['projects.archive', 'project_id'] },
    'serviceAccounts.list': { of: ofProject, removal: ['serviceAccounts.delete', 'service_account_id'] },
    'apiKeys.list': { of: ofProject, removal: ['apiKeys.delete', 'api_key_id'] },
    'projectSpendAlerts.list': { of: ofProject, removal: ['projectSpendAlerts.delete', 'alert_id'] },
    'spendAlerts.list': { of: {}, removal: ['spendAlerts.delete', 'alert_id'] },
    'adminKeys.list': { of: {}, removal: ['adminKeys.delete', 'key_id'] },
    'users.list': { of: {}, removal: ['users.delete', 'user_id'] },
    'projectUsers.list': { of: ofProject, removal: ['projectUsers.delete', 'user_id'] },
    'projectGroups.list': { of: ofProject, removal: ['projectGroups.delete', 'group_id'] },
    'userKeys.list': { of: { user_id: users[0] } },
    'userProjects.list': { of: { user_id: users[0] } },
    'groupUsers.list': { of: { group_id: groups[0] } },
    'groups.list': { of: {} },
    'roles.list': { of: {} },
    'userRoles.list': { of: { user_id: owner.id } },
    'rateLimits.list': { of: ofProject },
    'auditLogs.list': { of: {} },
    'projectViews.list': { of: {} },
  }
}

async function pageOf(name: Name, more: Input): Promise<Page & { ids: string[] }> {
  const page = (await call(keys, name, { ...lists[name]!.of, ...more })) as unknown as Page
  return { ...page, ids: page.data.map(({ id, group_id }) => (id ?? group_id) as string) }
}

test('every list of the keys service with a cursor is in the table', () => {
  const all = Object.entries<Operation>(operations).filter(
    ([name, { service, query }]) => name.endsWith('.list') && service === 'keys' && Object.hasOwn(query.shape, 'after'),
  )
  expect(NAMES.toSorted()).toEqual(all.map(([name]) => name).toSorted())
})

test.each(NAMES)('%s has all of its items page by page, and nothing behind the last one', async (name) => {
  const { ids, has_more: hasMore } = await pageOf(name, { limit: 100 })
  expect(hasMore).toBe(false)
  const pages: string[] = []
  for (let after: string | undefined; ;) {
    const page = await pageOf(name, { limit: 1, after })
    pages.push(...page.ids)
    expect([page.ids.length, page.has_more]).toEqual([1, pages.length < ids.length])
    if (!page.has_more) break
    after = (page.next ?? page.last_id)!
  }
  expect(pages).toEqual(ids)
  const behind = await pageOf(name, { limit: 1, after: ids.at(-1) })
  expect([behind.ids, behind.has_more, behind.next ?? behind.last_id ?? null]).toEqual([[], false, null])
})

test('a list goes on behind an item that was removed since its page was read', async () => {
  for (const name of NAMES) {
    const { of, removal } = lists[name]!
    if (!removal) continue
    const [operation, parameter] = removal
    const { ids } = await pageOf(name, { limit: 100 })
    await call(keys, operation, { ...of, [parameter]: ids[1] })
    const { ids: rest } = await pageOf(name, { limit: 100, after: ids[1] })
    expect([name, rest]).toEqual([name, ids.slice(2)])
  }
})
