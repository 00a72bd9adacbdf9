/**
 * Removals that nobody confirmed, since the admission store was away. The same call again is neither a 200 nor a 404 before the
 * removal holds everywhere, and it changes nothing more.
 */

import { operations, type OperationsOf } from '@gateway/contracts/administration/operations'
import type { Operation } from '@gateway/contracts/administration/operation'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { minted, openKeysService, personCall, type TestKeys } from '../../test/keys-service.ts'
import { call, refusalOf } from '../../test/projects.ts'

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

type Of<Names> =
  Names extends OperationsOf<'keys'> ? ((typeof operations)[Names]['method'] extends 'DELETE' ? Names : never) : never
type Removal = Of<OperationsOf<'keys'>>

interface Removable {
  /** The input of the removal. */
  input: Record<string, string>
  /** The same of a thing that was never there. */
  unknown: Record<string, string>
  /** Keys that end with the thing. */
  values?: string[]
}

const newProject = async () => (await call(keys, 'projects.create', { name: 'Search' })).id
const RECIPIENT = { notification_channel: { type: 'email', recipients: ['ops@example.org'] } }

async function newPerson(groups: string[] = []) {
  const subject = crypto.randomUUID()
  const by = personCall({ subject, email: `${subject}@example.org`, groups })
  return { by, subject, id: (await call(keys, 'me.retrieve', {}, by)).id }
}

/** A thing of each kind that can be removed, with keys where a removal ends some. */
const THINGS: Record<Removal, () => Promise<Removable>> = {
  async 'users.delete'() {
    const { by, subject, id } = await newPerson()
    const project_id = await newProject()
    await call(keys, 'projectUsers.create', { project_id, user_id: id, role: 'member' })
    const { value } = await call(keys, 'apiKeys.create', { project_id, name: 'named' }, by)
    const { key } = await minted(keys, { owner: { issuer: 'https://id.example', subject } })
    return { input: { user_id: id }, unknown: { user_id: `user-${'A'.repeat(24)}` }, values: [value, key] }
  },
  async 'projectUsers.delete'() {
    const [{ by, id }, stranger, project_id] = [await newPerson(), await newPerson(), await newProject()]
    await call(keys, 'projectUsers.create', { project_id, user_id: id, role: 'member' })
    const { value } = await call(keys, 'apiKeys.create', { project_id, name: 'named' }, by)
    return { input: { project_id, user_id: id }, unknown: { project_id, user_id: stranger.id }, values: [value] }
  },
  async 'projectGroups.delete'() {
    const [name, project_id] = [crypto.randomUUID(), await newProject()]
    const { by } = await newPerson([name])
    const { id } = await call(keys, 'groups.create', { name })
    const other = await call(keys, 'groups.create', { name: crypto.randomUUID() })
    await call(keys, 'projectGroups.create', { project_id, group_id: id, role: 'member' })
    const { value } = await call(keys, 'apiKeys.create', { project_id, name: 'named' }, by)
    return { input: { project_id, group_id: id }, unknown: { project_id, group_id: other.id }, values: [value] }
  },
  async 'serviceAccounts.delete'() {
    const project_id = await newProject()
    const { id, api_key } = await call(keys, 'serviceAccounts.create', { project_id, name: 'robot' })
    const unknown = { project_id, service_account_id: 'svc_acct_none' }
    return { input: { project_id, service_account_id: id }, unknown, values: [api_key!.value] }
  },
  async 'apiKeys.delete'() {
    const project_id = await newProject()
    const { id, value } = await call(keys, 'apiKeys.create', { project_id, name: 'named' })
    return { input: { project_id, api_key_id: id }, unknown: { project_id, api_key_id: 'key_none' }, values: [value] }
  },
  async 'adminKeys.delete'() {
    const { id } = await call(keys, 'adminKeys.create', { name: 'admin' })
    return { input: { key_id: id }, unknown: { key_id: 'key_none' } }
  },
  async 'modelPermissions.delete'() {
    const [project_id, unlimited] = [await newProject(), await newProject()]
    await call(keys, 'modelPermissions.update', { project_id, mode: 'deny_list', model_ids: ['svc-fast'] })
    return { input: { project_id }, unknown: { project_id: unlimited } }
  },
  async 'spendLimit.delete'() {
    const [project_id, unlimited] = [await newProject(), await newProject()]
    await call(keys, 'spendLimit.update', { project_id, allowance: 5 })
    return { input: { project_id }, unknown: { project_id: unlimited } }
  },
  async 'projectSpendAlerts.delete'() {
    const project_id = await newProject()
    const { id } = await call(keys, 'projectSpendAlerts.create', { project_id, allowance: 5, ...RECIPIENT })
    return { input: { project_id, alert_id: id }, unknown: { project_id, alert_id: 'alert_none' } }
  },
  async 'spendAlerts.delete'() {
    const { id } = await call(keys, 'spendAlerts.create', { threshold_amount: 5, ...RECIPIENT })
    return { input: { alert_id: id }, unknown: { alert_id: 'alert_none' } }
  },
}

/** They have no id of their own, or nothing that could still be admitted: the second call finds nothing. */
const GONE: readonly Removal[] = [
  'modelPermissions.delete',
  'spendLimit.delete',
  'projectSpendAlerts.delete',
  'spendAlerts.delete',
]

const removals = Object.keys(THINGS) as Removal[]

const auditedRows = async () => (await call(keys, 'auditLogs.list', { limit: 100 })).data.length

test('every removal is in the table', () => {
  const all = Object.entries<Operation>(operations).filter(([, { method }]) => method === 'DELETE')
  expect(removals.toSorted()).toEqual(all.map(([name]) => name).toSorted())
})

test('a removal that nobody confirmed is confirmed by the same call again, and is one change', async () => {
  const things = new Map<Removal, Removable>()
  for (const name of removals) things.set(name, await THINGS[name]())
  const callAll = async () =>
    Object.fromEntries(
      await Promise.all(
        removals.map(async (name) => [name, await refusalOf(keys, name, things.get(name)!.input)] as const),
      ),
    )
  for (const { values = [] } of things.values())
    for (const value of values) expect(await keys.admission.authenticate(value)).toMatchObject({ kind: 'active' })

  keys.admission.away = true
  const first = await callAll()
  const unconfirmed = removals.filter((name) => first[name] === 'SERVICE_UNAVAILABLE')
  expect(unconfirmed).toHaveLength(removals.length - 3)
  const rows = await auditedRows()
  const second = await callAll()
  for (const name of unconfirmed) expect([name, second[name]]).toEqual([name, 'SERVICE_UNAVAILABLE'])

  keys.admission.away = false
  const third = await callAll()
  expect(third).toEqual(Object.fromEntries(removals.map((name) => [name, GONE.includes(name) ? 'NOT_FOUND' : 'done'])))
  for (const [name, { values = [] }] of things)
    for (const value of values)
      expect([name, await keys.admission.authenticate(value)]).not.toMatchObject([name, { kind: 'active' }])
  expect(rows).toBeLessThan(100)
  expect(await auditedRows()).toBe(rows)
}, 120_000)

test.each(removals)('%s of a thing that was never there is a 404', async (name) => {
  const { unknown } = await THINGS[name]()
  expect(await refusalOf(keys, name, unknown)).toBe('NOT_FOUND')
})
