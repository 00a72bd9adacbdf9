/**
 * Projects with a key for each limit, made through the administration API before the run.
 */

import { parseKey } from '@gateway/contracts/api-key'
import { signIn } from '@gateway/stand-ins/sign-in'
import { type Administrator, type Members, type Named, openAdministrator } from '../clients/administrator.ts'
import type { LimitFact, LimitLog } from '../clients/limit-log.ts'
import { type Owner, ownerWith } from '../clients/owners.ts'
import type { Stage } from './open-stage.ts'
import {
  KEY_MODELS,
  KEY_MONTH_TOKENS,
  KEY_REQUESTS,
  KEY_TOKENS_PER_MINUTE,
  MODEL_REQUESTS,
  MODEL_REQUESTS_PER_DAY,
  MODEL_TOKENS_PER_MINUTE,
  PROJECT_MODELS,
  type ProjectOwnerName,
  projectOwnersFor,
  SPEND_CENTS,
} from '../plan/projects.ts'

export interface Projects extends LimitLog {
  administrator: Administrator
  owners: Owner[]
}

const NANO_USD_PER_CENT = 10_000_000
const MILLI_TOKENS = 1_000

/** The limits of its key, as the API names them. */
const KEY_LIMITS: Partial<Record<ProjectOwnerName['kind'], object>> = {
  'key-requests': { max_requests_per_1_minute: KEY_REQUESTS[0] },
  'key-tokens': { max_tokens_per_1_minute: KEY_TOKENS_PER_MINUTE },
  'key-month': { monthly_limit: KEY_MONTH_TOKENS },
  'key-models': { models: KEY_MODELS },
}

export async function openProjects(
  { cluster, edgeUrls }: Pick<Stage, 'cluster' | 'edgeUrls'>,
  requests: number,
): Promise<Projects> {
  const administrator = openAdministrator(edgeUrls, await makeAdminKey(cluster))
  const names = projectOwnersFor(requests)
  const ofModels = names.filter(({ kind }) => kind === 'models').map(({ name }) => name)
  const log: LimitLog = { limits: [], lists: [] }
  const shared = await projectWith(administrator, 'shared', 'team')
  const models = await projectWith(administrator, 'models', 'team')
  await limitModels(administrator, models, ofModels, log)
  const owners: Owner[] = []
  for (const name of names) {
    const project = await projectOf(administrator, name, { shared, models }, log)
    owners.push(await makeKey(administrator, project, name, KEY_LIMITS[name.kind]))
    noteKeyLimit(name, log)
  }
  return { administrator, owners, ...log }
}

async function makeAdminKey({ issuer, edges: [url] }: Stage['cluster']): Promise<string> {
  const token = await signIn(issuer, { name: 'owner', redirectUri: `${url}/console` })
  const response = await fetch(`${url}/v1/organization/admin_api_keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'chaos' }),
  })
  const { value } = (await response.json()) as { value?: string }
  if (value === undefined) throw new Error(`the owner was given no admin key: ${response.status}`)
  return value
}

export async function projectWith(administrator: Administrator, name: string, plan: string): Promise<string> {
  const { id } = await administrator.insist('projects.create', {}, { name, plan })
  return String(id)
}

/** Those with a limit of the project's own have a project of their own. */
async function projectOf(
  administrator: Administrator,
  { kind, name }: ProjectOwnerName,
  { shared, models }: { shared: string; models: string },
  { limits, lists }: LimitLog,
): Promise<string> {
  if (kind === 'models') return models
  if (kind !== 'spender' && kind !== 'allowed') return shared
  const project = await projectWith(administrator, name, kind === 'spender' ? 'payg' : 'team')
  if (kind === 'allowed') {
    const list = { mode: 'allow_list', model_ids: PROJECT_MODELS }
    await administrator.insist('modelPermissions.update', { project }, list)
    lists.push({ scope: 'account', owners: [name], models: PROJECT_MODELS })
    return project
  }
  const limit = { currency: 'USD', interval: 'month', threshold_amount: SPEND_CENTS }
  await administrator.insist('spendLimit.update', { project }, limit)
  limits.push(limitOf('account', 'allowance', [name], SPEND_CENTS * NANO_USD_PER_CENT, { unit: 'usd' }))
  return project
}

async function limitModels(
  administrator: Administrator,
  project: string,
  owners: readonly string[],
  { limits }: LimitLog,
): Promise<void> {
  const limit = (model: string, member: object) =>
    administrator.insist('rateLimits.update', { project, limit: `rl_${model}` }, member)
  await limit('chat-one', { max_requests_per_1_minute: MODEL_REQUESTS[0] })
  await limit('chat-dear', { max_tokens_per_1_minute: MODEL_TOKENS_PER_MINUTE })
  await limit('embed', { max_requests_per_1_day: MODEL_REQUESTS_PER_DAY })
  limits.push(
    limitOf('model', 'requests', owners, MODEL_REQUESTS[0], { model: 'chat-one' }),
    limitOf('model', 'tokens', owners, MODEL_TOKENS_PER_MINUTE, { model: 'chat-dear' }),
    limitOf('model', 'day', owners, MODEL_REQUESTS_PER_DAY, { model: 'embed' }),
  )
}

function noteKeyLimit({ kind, name }: ProjectOwnerName, { limits, lists }: LimitLog): void {
  if (kind === 'key-requests') limits.push(limitOf('key', 'requests', [name], KEY_REQUESTS[0]))
  if (kind === 'key-tokens') limits.push(limitOf('key', 'tokens', [name], KEY_TOKENS_PER_MINUTE))
  if (kind === 'key-month') limits.push(limitOf('key', 'allowance', [name], KEY_MONTH_TOKENS * MILLI_TOKENS))
  if (kind === 'key-models') lists.push({ scope: 'key', owners: [name], models: KEY_MODELS })
}

function limitOf(
  scope: LimitFact['scope'],
  reason: LimitFact['reason'],
  owners: readonly string[],
  value: number,
  { model = null, unit = 'tokens' }: { model?: string | null; unit?: LimitFact['unit'] } = {},
): LimitFact {
  return { scope, reason, owners, model, unit, values: [{ value, fromMs: 0, toMs: null }] }
}

async function makeKey(
  administrator: Administrator,
  project: string,
  name: Pick<Owner, 'name' | 'kind'>,
  limits: object = {},
): Promise<Owner> {
  return ownerOf(
    project,
    name,
    await administrator.insist('apiKeys.create', { project }, { name: name.name, ...limits }),
  )
}

/** `made`: the response that has the key's value. */
export function ownerOf(project: string, name: Pick<Owner, 'name' | 'kind'>, made: Members): Owner {
  const value = String(made['value'])
  const keyId = String(made['id'])
  if (!parseKey(value)) throw new Error(`${name.name} was given something that is no key`)
  return { ...ownerWith(name, '', value), project: { id: project, keyId } }
}

export const placeOfKey = ({ project }: Owner): Named => ({ project: project!.id, key: project!.keyId })
