/**
 * People who have signed in. The identity provider gives them their names, roles and groups; here an administrator reads them, and
 * ends all that a person has.
 */

import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import type { OrganizationUser } from '@gateway/contracts/administration/people'
import { GatewayError } from '@gateway/contracts/errors'
import { lockDeveloperAccount, raiseVersion } from '../db/accounts.ts'
import { deactivateKey, findLivingKey } from '../db/keys.ts'
import { noteChange, noteProjectChange, type Change } from '../db/outbox.ts'
import {
  accountsOfUser,
  endKeysOf,
  findUser,
  listUsers,
  lockProjectsOf,
  projectsWithKeysOf,
  removeUser,
  type UserRow,
} from '../db/people.ts'
import { lockProjectRow } from '../db/projects.ts'
import { ended } from '../handlers/developer-keys.ts'
import type { AdministrationCall, AdministrationHandlers } from './call.ts'
import { confirmRemoval } from './confirm-removal.ts'
import { toPage, unixSeconds } from './pages.ts'

function viewUser({ id, email, name, role, added_at }: UserRow): OrganizationUser {
  const addedAt = unixSeconds(added_at)
  return {
    id,
    object: 'organization.user',
    added_at: addedAt,
    created: addedAt,
    email,
    name,
    role,
    is_service_account: false,
    is_scim_managed: true,
  }
}

export const userHandlers = {
  'users.list': async ({ transaction }, { after, limit, emails, search }) => {
    const filter = { emails: emails ?? null, search: search || null, group: null }
    const list = { after, limit, order: 'desc' as const, ...filter }
    return toPage(await listUsers(transaction, list), viewUser)
  },

  'users.retrieve': async (call, { user_id: id }) => viewUser(await readUser(call, id)),

  'users.update': async (call, { user_id: id, ...changes }) => {
    const user = await readUser(call, id)
    const isSame = changes.role == null || changes.role === user.role
    const param = isSame
      ? (['role_id', 'developer_persona', 'technical_level'] as const).find((it) => changes[it] != null)
      : 'role'
    if (param === undefined) return viewUser(user)
    const sentence = `${param}: the identity provider decides it; change it there, and it holds from the next token on`
    throw new GatewayError('VALIDATION_ERROR', sentence, { param })
  },

  'users.delete': async (call, { user_id: id }) => {
    const user = await findUser(call.transaction, id)
    if (user) await endUser(call, user)
    else {
      const removal = { type: 'user.deleted', projectId: null, id } as const
      await confirmRemoval(call, removal, await accountsOfUser(call.transaction, id), noUser(id))
    }
    return { id, object: 'organization.user.deleted' as const, deleted: true as const }
  },
} satisfies Partial<AdministrationHandlers>

export async function readUser({ transaction }: Pick<AdministrationCall, 'transaction'>, id: string): Promise<UserRow> {
  const user = await findUser(transaction, id)
  if (!user) throw noUser(id)
  return user
}

function noUser(id: string): GatewayError {
  return new GatewayError('NOT_FOUND', `There is no user ${id}`)
}

async function endUser(call: AdministrationCall, user: UserRow): Promise<void> {
  const { transaction, context, audit } = call
  const { id, email, role } = user
  const changes: Change[] = []
  await lockProjectsOf(transaction, id)
  for (const account of await projectsWithKeysOf(transaction, id))
    changes.push(await endProjectKeysOf(call, account, id))
  const own = await endDeveloperKey(call, user)
  if (own) changes.push(own)
  await removeUser(transaction, id)
  audit({ type: 'user.deleted', details: { id }, before: { email, role } })
  for (const change of changes) call.afterCommit(() => context.changes.announce(change))
}

/** Locks the project and ends the keys that the person made there. */
export async function endProjectKeysOf(
  { transaction, audit }: AdministrationCall,
  account: string,
  userId: string,
): Promise<Change> {
  await lockProjectRow(transaction, account)
  const version = await raiseVersion(transaction, account)
  for (const key of await endKeysOf(transaction, { account, userId }, version)) audit(ended({ account, ...key }))
  return noteProjectChange(transaction, { account, reason: 'revoked', version })
}

async function endDeveloperKey({ transaction, audit }: AdministrationCall, owner: UserRow): Promise<Change | null> {
  const account = await lockDeveloperAccount(transaction, owner)
  const key = account && (await findLivingKey(transaction, account.tag))
  if (!key) return null
  const deadKey = await deactivateKey(transaction, key, await raiseVersion(transaction, key.account))
  audit({ type: 'api_key.deleted', projectId: `${PROJECT_PREFIX}${key.account}`, details: { id: `key_${key.keyId}` } })
  return noteChange(transaction, { account: key.account, reason: 'revoked', deadKey })
}
