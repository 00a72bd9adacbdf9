/**
 * Each change of the administration API that keys serves, with an input that changes something in a fresh project.
 */

import { randomUUID } from 'node:crypto'
import { BusTimeoutError } from '@gateway/bus/port'
import type { AdministerReply } from '@gateway/contracts/administration/envelope'
import type { OperationName, OperationsOf, operations } from '@gateway/contracts/administration/operations'
import { rpcClient } from '@gateway/rpc/client'
import type { Stage } from '../project-keys/stage.ts'

export type ChangeName = {
  [Name in OperationsOf<'keys'>]: (typeof operations)[Name]['method'] extends 'GET' ? never : Name
}[OperationsOf<'keys'>]

type Members = Record<string, unknown>

/** As an edge does: a service that restarts is away for a moment. */
const WITHIN = { timeoutMs: 45_000, absentForMs: 45_000 }

export function callOnce(
  { bus }: Stage,
  operation: OperationName,
  input: Members,
  requestId: string = randomUUID(),
): Promise<AdministerReply> {
  const origin = { requestId, address: null, userAgent: null }
  const request = { operation, input, credential: { kind: 'operator' as const }, origin }
  return rpcClient('ctl', bus).request('keysAdminister', request, WITHIN)
}

/** The broker may hand a message to a process that has just been killed, and which never reads it. */
export async function call(...of: Parameters<typeof callOnce>): Promise<AdministerReply> {
  try {
    return await callOnce(...of)
  } catch (error) {
    if (!(error instanceof BusTimeoutError)) throw error
    return callOnce(...of)
  }
}

export async function outputOf(stage: Stage, operation: OperationName, input: Members): Promise<Members> {
  const reply = await call(stage, operation, input)
  if (reply.kind === 'refused') throw new Error(`${operation}: ${reply.code} ${reply.message}`)
  return reply.output as Members
}

/** Somebody who has signed in once. */
async function newPerson({ stage }: World): Promise<string> {
  const subject = `person-${randomUUID()}`
  const claimed = { role: null, groups: [], hasRole: true, hasGroups: true }
  const credential = { kind: 'sign_in' as const, issuer: 'https://id.example', subject, ...claimed }
  const origin = { requestId: randomUUID(), address: null, userAgent: null }
  const request = { operation: 'projects.list', input: {}, credential, origin }
  await rpcClient('ctl', stage.bus).request('keysAdminister', request, WITHIN)
  const { rows } = await stage.database.query<{ id: string }>('select id from keys.users where subject = $1', [subject])
  return rows[0]!.id
}

async function newMember(world: World): Promise<Members> {
  const { send, project_id } = world
  const user_id = await newPerson(world)
  await send('projectUsers.create', { project_id, user_id, role: 'member' })
  return { project_id, user_id }
}

async function newGroup({ send }: World): Promise<string> {
  return String((await send('groups.create', { name: `group-${randomUUID()}` }))['id'])
}

async function newGroupMember(world: World): Promise<Members> {
  const { send, project_id } = world
  const group_id = await newGroup(world)
  await send('projectGroups.create', { project_id, group_id, role: 'member' })
  return { project_id, group_id }
}

/** In cents for the organization, in tokens for a project of the default plan. */
const ALERT = {
  threshold_amount: 500,
  allowance: 500,
  notification_channel: { type: 'email', recipients: ['ops@search.example'] },
}

async function newAlert({ send }: World, of: { project_id?: string }): Promise<Members> {
  const operation = of.project_id === undefined ? 'spendAlerts.create' : 'projectSpendAlerts.create'
  return { ...of, alert_id: (await send(operation, { ...of, ...ALERT }))['id'] }
}

/** A backend of the default config. */
const BACKEND = { backend_id: 'simulated-a' }

const ofKey = ({ project_id, api_key_id }: World) => ({ project_id, api_key_id })
const ofServiceAccount = ({ project_id, service_account_id }: World) => ({ project_id, service_account_id })

/** The input of a change that the same call makes no second time, except for creations. */
export const CHANGES: { [Name in ChangeName]: (world: World) => Members | Promise<Members> } = {
  'projects.create': () => ({ name: `project-${randomUUID()}` }),
  'projects.update': ({ project_id }) => ({ project_id, name: 'find' }),
  'projects.archive': ({ project_id }) => ({ project_id }),
  'serviceAccounts.create': ({ project_id }) => ({ project_id, name: 'another' }),
  'serviceAccounts.update': (world) => ({ ...ofServiceAccount(world), name: 'machine' }),
  'serviceAccounts.delete': ofServiceAccount,
  'serviceAccounts.createKey': ofServiceAccount,
  'apiKeys.create': ({ project_id }) => ({ project_id, name: 'another', models: ['svc-fast'] }),
  'apiKeys.update': (world) => ({ ...ofKey(world), expires_in_seconds: 3_600 }),
  'apiKeys.patch': (world) => ({ ...ofKey(world), name: 'renamed', max_requests_per_1_minute: 5 }),
  'apiKeys.rotate': ofKey,
  'apiKeys.delete': ofKey,
  'rateLimits.update': ({ project_id }) => ({
    project_id,
    rate_limit_id: 'rl_svc-fast',
    max_requests_per_1_minute: 5,
  }),
  'modelPermissions.update': ({ project_id }) => ({ project_id, mode: 'deny_list', model_ids: ['svc-fast'] }),
  async 'modelPermissions.delete'({ send, project_id }) {
    await send('modelPermissions.update', { project_id, mode: 'deny_list', model_ids: ['svc-fast'] })
    return { project_id }
  },
  'spendLimit.update': ({ project_id }) => ({ project_id, allowance: 1_000 }),
  async 'spendLimit.delete'({ send, project_id }) {
    await send('spendLimit.update', { project_id, allowance: 1_000 })
    return { project_id }
  },
  'hostedToolPermissions.update': ({ project_id }) => ({ project_id, mcp: { enabled: true } }),
  'projectDataRetention.update': ({ project_id }) => ({ project_id, retention_type: 'zero_data_retention' }),
  'dataRetention.update': () => ({ retention_type: 'zero_data_retention' }),
  'projectSpendAlerts.create': ({ project_id }) => ({ project_id, ...ALERT }),
  'projectSpendAlerts.update': async (world) => ({
    ...(await newAlert(world, { project_id: world.project_id })),
    ...ALERT,
    allowance: 700,
  }),
  'projectSpendAlerts.delete': (world) => newAlert(world, { project_id: world.project_id }),
  'spendAlerts.create': () => ALERT,
  'spendAlerts.update': async (world) => ({ ...(await newAlert(world, {})), ...ALERT, threshold_amount: 700 }),
  'spendAlerts.delete': (world) => newAlert(world, {}),
  'adminKeys.create': () => ({ name: 'platform' }),
  'adminKeys.delete': async ({ send }) => ({ key_id: (await send('adminKeys.create', { name: 'platform' }))['id'] }),
  'users.update': async (world) => ({ user_id: await newPerson(world) }),
  'users.delete': async (world) => ({ user_id: await newPerson(world) }),
  'groups.create': () => ({ name: `group-${randomUUID()}` }),
  'projectUsers.create': async (world) => ({
    project_id: world.project_id,
    user_id: await newPerson(world),
    role: 'member',
  }),
  'projectUsers.update': async (world) => ({ ...(await newMember(world)), role: 'owner' }),
  'projectUsers.delete': newMember,
  'projectGroups.create': async (world) => ({
    project_id: world.project_id,
    group_id: await newGroup(world),
    role: 'member',
  }),
  'projectGroups.delete': newGroupMember,
  async 'backends.eject'({ send }) {
    await send('backends.restore', BACKEND)
    return BACKEND
  },
  async 'backends.drain'({ send }) {
    await send('backends.restore', BACKEND)
    return BACKEND
  },
  async 'backends.restore'({ send }) {
    await send('backends.drain', BACKEND)
    return BACKEND
  },
  'accounts.update': ({ project_id }) => ({ account_id: project_id, overage: true }),
  'projectViews.update': ({ project_id }) => ({ project_id, overage: true }),
  'accounts.topUp': ({ project_id }) => ({ account_id: project_id, id: randomUUID(), amount: 1_000 }),
  'keys.revoke': ({ api_key_id }) => ({ key_id: api_key_id }),
  'keys.reseal': () => ({}),
}

/** A fresh project with things that a change can change. */
export interface World {
  stage: Stage
  send(operation: OperationName, input: Members): Promise<Members>
  project_id: string
  service_account_id: string
  api_key_id: string
}

export async function createWorld(stage: Stage): Promise<World> {
  const send = (operation: OperationName, input: Members) => outputOf(stage, operation, input)
  const { id } = await send('projects.create', { name: 'search' })
  const project_id = String(id)
  const robot = await send('serviceAccounts.create', { project_id, name: 'robot' })
  const named = await send('apiKeys.create', { project_id, name: 'named' })
  return { stage, send, project_id, service_account_id: String(robot['id']), api_key_id: String(named['id']) }
}
