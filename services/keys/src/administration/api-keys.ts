/**
 * Named keys of projects: created, listed, limited, rotated and revoked.
 *
 * A rotation replaces the value and keeps the key: its id, limits and counts go on. So a caller whose response was lost rotates
 * again. No edge admits a value after the reply to its rotation or revocation.
 */

import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import { maskKey } from '@gateway/contracts/api-key'
import type { ProjectApiKey } from '@gateway/contracts/administration/projects'
import { GatewayError } from '@gateway/contracts/errors'
import { toPlanUnit } from '@gateway/pricing/charge'
import { type RawBuilder, sql } from 'kysely'
import { readLimits, type ChangedLimits, type GivenLimits } from '../core/key-changes.ts'
import { newKeyId, newValue } from '../core/new-key.ts'
import { unitOf } from '../core/plans.ts'
import { lockAccount, raiseVersion } from '../db/accounts.ts'
import { noteProjectChange } from '../db/outbox.ts'
import {
  changeProjectKey,
  findProjectKey,
  insertProjectKey,
  listProjectKeys,
  replaceValue,
  type KeyOwner,
  type LimitsColumns,
  type ProjectKey,
} from '../db/project-keys.ts'
import { findPersonalKey, listPersonalKeys } from '../db/personal-keys.ts'
import type { ProjectRow } from '../db/projects.ts'
import { revokeById } from '../handlers/developer-keys.ts'
import { fillBeforehand } from '../make-key.ts'
import type { AdministrationCall, AdministrationHandlers } from './call.ts'
import { toPage, unixSeconds, withoutPrefix } from './pages.ts'
import { lockLiveProject, lockSharedProject, readProject } from './project-of-call.ts'

const KEY_PREFIX = 'key_'

function view(key: ProjectKey): ProjectApiKey {
  return {
    id: `${KEY_PREFIX}${key.keyId}`,
    object: 'organization.project.api_key',
    name: key.name,
    redacted_value: maskKey(key.keyId),
    created_at: unixSeconds(key.createdAt),
    last_used_at: key.lastUsedAt && unixSeconds(key.lastUsedAt),
    expires_at: key.expires_at && unixSeconds(key.expires_at),
    owner: ownerOf(key),
    owner_project_access: key.person && key.personRole === null ? 'inactive' : 'active',
    ...limitsOf(key),
  }
}

function limitsOf({ models, monthly_limit: monthly, monthly_unit: unit, ...rates }: LimitsColumns) {
  return {
    models,
    monthly_limit: monthly === null ? null : toPlanUnit(monthly, unit!),
    max_requests_per_1_minute: rates.requests_per_minute,
    max_tokens_per_1_minute: rates.tokens_per_minute,
  }
}

function ownerOf(key: ProjectKey): ProjectApiKey['owner'] {
  const { serviceAccount, person, personRole, createdBy, createdByName, createdAt } = key
  if (serviceAccount) {
    const { createdAt: since, ...facts } = serviceAccount
    return { type: 'service_account', service_account: { ...facts, created_at: unixSeconds(since) } }
  }
  const name = person?.name ?? createdByName!
  // Admin keys and the operator act as owners.
  const role = person ? (personRole ?? 'member') : 'owner'
  const since = unixSeconds(person?.addedAt ?? createdAt)
  return { type: 'user', user: { id: createdBy!, name, email: person?.email ?? '', role, created_at: since } }
}

export const apiKeyHandlers = {
  'apiKeys.list': async (call, input) => {
    const { after, limit, owner_project_access: access, search, api_key_ids: ids } = input
    const { tag: account, kind } = await readProject(call, input)
    const ownerHasAccess = access === 'any' ? null : access === 'active'
    const keyId = after && withoutPrefix(KEY_PREFIX, after)
    const list = kind === 'project' ? listProjectKeys : listPersonalKeys
    const keyIds = ids?.map((id) => withoutPrefix(KEY_PREFIX, id))
    return toPage(await list(call.transaction, { account, after: keyId, limit, ownerHasAccess, search, keyIds }), view)
  },

  'apiKeys.create': async (call, input) => {
    const { tag } = await lockSharedProject(call, input)
    const { id, name } = call.caller
    const { key, value } = await makeProjectKey(call, tag, { kind: 'administrator', id, name }, input)
    return { ...view(key), value }
  },

  'apiKeys.retrieve': async (call, input) => {
    return view(await findLive(call, await readProject(call, input), input.api_key_id))
  },

  'apiKeys.update': async (call, input) => changeKey(call, input),

  'apiKeys.patch': async (call, input) => changeKey(call, input),

  'apiKeys.rotate': async (call, input) => {
    const project = await lockSharedProject(call, input)
    const key = await findLive(call, project, input.api_key_id)
    expectManaged(call, key)
    const { transaction, context } = call
    const { tag: account } = project
    const version = await raiseVersion(transaction, account)
    const { value, hash } = newValue(key.keyId, account)
    await replaceValue(transaction, { account, keyId: key.keyId, hash, version })
    const change = await noteProjectChange(transaction, { account, reason: 'rotated', version })
    call.audit({
      type: 'api_key.updated',
      projectId: input.project_id,
      details: { id: input.api_key_id, changes_requested: { value: maskKey(key.keyId) } },
    })
    call.afterCommit(() => context.changes.announce(change))
    return { ...view(key), value }
  },

  'apiKeys.delete': async (call, input) => {
    const project = await lockLiveProject(call, input)
    const key = await find(call, project, input.api_key_id)
    expectManaged(call, key)
    // The key may be dead already: the first call may have failed before its announcement.
    const change = (await revokeById(call.transaction, key.keyId))!
    if (!key.deactivatedAt) {
      const details = { id: input.api_key_id }
      call.audit({ type: 'api_key.deleted', projectId: input.project_id, details, before: { name: key.name } })
    }
    call.afterCommit(() => call.context.changes.announce(change))
    return { id: input.api_key_id, object: 'organization.project.api_key.deleted' as const, deleted: true as const }
  },
} satisfies Partial<AdministrationHandlers>

/** Also one that is dead. */
async function find(call: AdministrationCall, { tag, kind }: ProjectRow, id: string): Promise<ProjectKey> {
  const findKey = kind === 'project' ? findProjectKey : findPersonalKey
  const key = await findKey(call.transaction, tag, withoutPrefix(KEY_PREFIX, id))
  if (!key) throw unknown(id)
  return key
}

async function findLive(call: AdministrationCall, project: ProjectRow, id: string): Promise<ProjectKey> {
  const key = await find(call, project, id)
  if (key.deactivatedAt) throw unknown(id)
  return key
}

function unknown(id: string): GatewayError {
  return new GatewayError('NOT_FOUND', `There is no key ${id} in the project`)
}

/** A member manages own keys, an owner all of the project. */
function expectManaged({ caller, projectRole }: AdministrationCall, { createdBy }: ProjectKey): void {
  if (projectRole === 'owner' || createdBy === caller.id) return
  throw new GatewayError('FORBIDDEN', 'The key is not yours: an owner of the project manages it')
}

interface GivenKey extends GivenLimits {
  name?: string | undefined
  expires_in_seconds?: number | null | undefined
}

/** A key that did not exist needs no announcement: an edge that does not know it calls for it. */
export async function makeProjectKey(
  call: AdministrationCall,
  account: string,
  owner: KeyOwner,
  given: GivenKey & { name: string },
): Promise<{ key: ProjectKey; value: string }> {
  const { transaction, context, audit, afterCommit } = call
  const { plan } = await lockAccount(transaction, account)
  const none = {
    models: null,
    monthly_limit: null,
    monthly_unit: null,
    requests_per_minute: null,
    tokens_per_minute: null,
  }
  const limits = { ...none, expires_at: null, ...changesOf(call, plan, given) }
  const version = await raiseVersion(transaction, account)
  const keyId = newKeyId()
  const { value, hash } = newValue(keyId, account)
  await insertProjectKey(transaction, { keyId, account, hash, name: given.name, owner, limits, version })
  const key = (await findProjectKey(transaction, account, keyId))!
  audit({
    type: 'api_key.created',
    projectId: `${PROJECT_PREFIX}${account}`,
    details: { id: `${KEY_PREFIX}${keyId}`, data: { scopes: [], name: given.name } },
    after: auditedFacts(key),
  })
  afterCommit(() => fillBeforehand(context, account, [hash]))
  return { key, value }
}

type Changes = ChangedLimits & { expires_at?: RawBuilder<Date> | null }

function changesOf({ context }: AdministrationCall, plan: string, given: GivenKey): Changes {
  const { models, plans } = context.config.current
  const { expires_in_seconds: seconds } = given
  return {
    ...readLimits(given, models, unitOf(plans, plan)),
    ...(seconds !== undefined && {
      expires_at: seconds === null ? null : sql<Date>`now() + make_interval(secs => ${seconds})`,
    }),
  }
}

async function changeKey(
  call: AdministrationCall,
  input: GivenKey & { project_id: string; api_key_id: string },
): Promise<ProjectApiKey> {
  const { transaction, context } = call
  const project = await lockSharedProject(call, input)
  const { tag: account, plan } = project
  const held = await findLive(call, project, input.api_key_id)
  expectManaged(call, held)
  const { name = held.name } = input
  const changes = changesOf(call, plan, input)
  const isLimited = Object.keys(changes).length > 0
  if (!isLimited && name === held.name) return view(held)
  const version = isLimited ? await raiseVersion(transaction, account) : held.version
  await changeProjectKey(transaction, held.keyId, { ...changes, name, version })
  const key = await findLive(call, project, input.api_key_id)
  call.audit({
    type: 'api_key.updated',
    projectId: input.project_id,
    details: { id: input.api_key_id, changes_requested: auditedFacts(key) },
    before: auditedFacts(held),
    after: auditedFacts(key),
  })
  if (isLimited) {
    const change = await noteProjectChange(transaction, { account, reason: 'key', version })
    call.afterCommit(() => context.changes.announce(change))
  }
  return view(key)
}

function auditedFacts(key: ProjectKey): Record<string, unknown> {
  return { name: key.name, expires_at: key.expires_at && unixSeconds(key.expires_at), ...limitsOf(key) }
}
