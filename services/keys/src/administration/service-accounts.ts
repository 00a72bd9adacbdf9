/**
 * Service accounts of projects and their keys. Deleting one ends its keys at once.
 */

import { randomBytes } from 'node:crypto'
import { randomBase62 } from '@gateway/contracts/api-key'
import type { NewServiceAccountKey, ServiceAccount } from '@gateway/contracts/administration/projects'
import { GatewayError } from '@gateway/contracts/errors'
import { raiseVersion } from '../db/accounts.ts'
import { noteProjectChange } from '../db/outbox.ts'
import { endProjectKeys } from '../db/project-keys.ts'
import {
  changeServiceAccount,
  deleteServiceAccount,
  findServiceAccount,
  insertServiceAccount,
  listServiceAccounts,
  type ServiceAccountRow,
} from '../db/service-accounts.ts'
import { makeProjectKey } from './api-keys.ts'
import type { AdministrationCall, AdministrationHandlers } from './call.ts'
import { toPage, unixSeconds } from './pages.ts'
import { lockLiveProject, lockSharedProject, readProject } from './project-of-call.ts'

const ID_PREFIX = 'svc_acct_'
const ID_LENGTH = 24
const FIRST_KEY = 'Secret Key'

function view({ id, name, role, createdAt }: ServiceAccountRow): ServiceAccount {
  return { id, object: 'organization.project.service_account', name, role, created_at: unixSeconds(createdAt) }
}

/** Also one that is deleted. */
async function find(call: AdministrationCall, tag: string, id: string): Promise<ServiceAccountRow> {
  const found = await findServiceAccount(call.transaction, tag, id)
  if (!found) throw unknown(id)
  return found
}

async function findLive(call: AdministrationCall, tag: string, id: string): Promise<ServiceAccountRow> {
  const found = await find(call, tag, id)
  if (found.deletedVersion !== null) throw unknown(id)
  return found
}

function unknown(id: string): GatewayError {
  return new GatewayError('NOT_FOUND', `There is no service account ${id} in the project`)
}

export const serviceAccountHandlers = {
  'serviceAccounts.list': async (call, input) => {
    const { after, limit } = input
    const { tag: account } = await readProject(call, input)
    return toPage(await listServiceAccounts(call.transaction, { account, after, limit }), view)
  },

  'serviceAccounts.create': async (call, input) => {
    const { name, create_service_account_only: isAlone, expires_in_seconds: expiresInSeconds } = input
    const { tag } = await lockSharedProject(call, input)
    const id = `${ID_PREFIX}${randomBase62(ID_LENGTH, randomBytes)}`
    await insertServiceAccount(call.transaction, { id, account: tag, name })
    const details = { id, data: { name, role: 'member' } }
    call.audit({ type: 'service_account.created', projectId: input.project_id, details })
    const key = isAlone ? null : await makeKey(call, { tag, id, name: FIRST_KEY, expiresInSeconds })
    const created = await findLive(call, tag, id)
    return { ...view(created), role: 'member' as const, api_key: key }
  },

  'serviceAccounts.retrieve': async (call, input) => {
    const { tag } = await readProject(call, input)
    return view(await findLive(call, tag, input.service_account_id))
  },

  'serviceAccounts.update': async (call, input) => {
    const { tag } = await lockLiveProject(call, input)
    const held = await findLive(call, tag, input.service_account_id)
    const wanted = { name: input.name ?? held.name, role: input.role ?? held.role }
    if (wanted.name === held.name && wanted.role === held.role) return view(held)
    await changeServiceAccount(call.transaction, held.id, wanted)
    call.audit({
      type: 'service_account.updated',
      projectId: input.project_id,
      details: { id: held.id, changes_requested: wanted },
      before: { name: held.name, role: held.role },
      after: wanted,
    })
    return view({ ...held, ...wanted })
  },

  'serviceAccounts.delete': async (call, input) => {
    const { tag: account } = await lockLiveProject(call, input)
    const { id, deletedVersion } = await find(call, account, input.service_account_id)
    const version = deletedVersion ?? (await end(call, { account, id, projectId: input.project_id }))
    // The first call may have failed before its announcement.
    const change = await noteProjectChange(call.transaction, { account, reason: 'revoked', version })
    call.afterCommit(() => call.context.changes.announce(change))
    return { id, object: 'organization.project.service_account.deleted' as const, deleted: true as const }
  },

  'serviceAccounts.createKey': async (call, input) => {
    const { tag } = await lockSharedProject(call, input)
    const { id } = await findLive(call, tag, input.service_account_id)
    const { name = FIRST_KEY, expires_in_seconds: expiresInSeconds } = input
    return makeKey(call, { tag, id, name, expiresInSeconds })
  },
} satisfies Partial<AdministrationHandlers>

async function makeKey(
  call: AdministrationCall,
  of: { tag: string; id: string; name: string; expiresInSeconds: number | null | undefined },
): Promise<NewServiceAccountKey> {
  const { tag, id, name, expiresInSeconds } = of
  const input = { name, expires_in_seconds: expiresInSeconds ?? null }
  const { key, value } = await makeProjectKey(call, tag, { kind: 'service_account', id }, input)
  return {
    object: 'organization.project.service_account.api_key',
    id: `key_${key.keyId}`,
    name,
    value,
    created_at: unixSeconds(key.createdAt),
    expires_at: key.expires_at && unixSeconds(key.expires_at),
  }
}

async function end(
  { transaction, audit }: AdministrationCall,
  { account, id, projectId }: { account: string; id: string; projectId: string },
): Promise<number> {
  const version = await raiseVersion(transaction, account)
  const ended = await endProjectKeys(transaction, { account, serviceAccount: id }, version)
  await deleteServiceAccount(transaction, id, version)
  audit({
    type: 'service_account.deleted',
    projectId,
    details: { id },
    before: { keys: ended.map((key) => `key_${key}`) },
  })
  return version
}
