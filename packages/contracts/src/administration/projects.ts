/**
 * Projects: accounts that a group shares. Each person's own account is listed as a project, too, with `personal`.
 */

import * as z from 'zod'
import { cursor, deleted, flag, givenName, listOf, nothing, unixTime, type Operation } from './operation.ts'

/** The id of a project is this and the account's tag. */
export const PROJECT_PREFIX = 'proj_'

export const project = z.object({
  id: z.string(),
  object: z.literal('organization.project'),
  name: z.string().nullable(),
  created_at: unixTime,
  archived_at: unixTime.nullable(),
  status: z.enum(['active', 'archived']),
  /** Ours: a person's own account. */
  personal: z.boolean(),
  /** Ours: the plan of the account. */
  plan: z.string(),
})
export type Project = z.input<typeof project>

const PROJECT = '/v1/organization/projects/{project_id}'
const OURS_PLAN = '`plan` (ours) sets the plan of a new project; without it the default plan holds'

export const projectOperations = {
  'projects.list': {
    method: 'GET',
    path: '/v1/organization/projects',
    service: 'keys',
    access: 'signed in',
    query: z.strictObject({ ...cursor, include_archived: flag.default(false) }),
    body: nothing,
    output: listOf(project),
    about: 'lists projects, newest first',
    deviation: 'personal accounts are listed, too, with `personal: true`; a caller without a role sees the own ones',
  },
  'projects.create': {
    method: 'POST',
    path: '/v1/organization/projects',
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: z.strictObject({ name: givenName, plan: z.string().optional() }),
    output: project,
    about: 'creates a project',
    deviation: OURS_PLAN,
  },
  'projects.retrieve': {
    method: 'GET',
    path: PROJECT,
    service: 'keys',
    access: 'project reader',
    query: nothing,
    body: nothing,
    output: project,
    about: 'shows a project',
  },
  'projects.update': {
    method: 'POST',
    path: PROJECT,
    service: 'keys',
    access: 'project owner',
    query: nothing,
    body: z.strictObject({ name: givenName.optional() }),
    output: project,
    about: 'renames a project',
    deviation: 'the plan is changed by `PATCH /admin/v1/accounts/{id}`',
  },
  'projects.archive': {
    method: 'POST',
    path: `${PROJECT}/archive`,
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: nothing,
    output: project,
    about: 'ends all keys of a project at once, and cuts their open streams',
    deviation: 'a personal project cannot be archived (409)',
  },
} as const satisfies Record<string, Operation>

const serviceAccount = z.object({
  id: z.string(),
  object: z.literal('organization.project.service_account'),
  name: z.string(),
  role: z.enum(['owner', 'member']),
  created_at: unixTime,
})
export type ServiceAccount = z.input<typeof serviceAccount>

/** The value of a key is in this response only. */
const newServiceAccountKey = z.object({
  object: z.literal('organization.project.service_account.api_key'),
  id: z.string(),
  name: z.string(),
  value: z.string(),
  created_at: unixTime,
  expires_at: unixTime.nullable(),
})
export type NewServiceAccountKey = z.input<typeof newServiceAccountKey>

const SERVICE_ACCOUNTS = `${PROJECT}/service_accounts` as const
const SERVICE_ACCOUNT = `${SERVICE_ACCOUNTS}/{service_account_id}` as const

export const serviceAccountOperations = {
  'serviceAccounts.list': {
    method: 'GET',
    path: SERVICE_ACCOUNTS,
    service: 'keys',
    access: 'project reader',
    query: z.strictObject(cursor),
    body: nothing,
    output: listOf(serviceAccount),
    about: 'lists the service accounts of a project, newest first',
  },
  'serviceAccounts.create': {
    method: 'POST',
    path: SERVICE_ACCOUNTS,
    service: 'keys',
    access: 'project owner',
    query: nothing,
    body: z.strictObject({
      name: givenName,
      create_service_account_only: z.boolean().nullish(),
      expires_in_seconds: z.int().min(1).max(3_153_600_000).nullish(),
    }),
    output: z.object({ ...serviceAccount.shape, role: z.literal('member'), api_key: newServiceAccountKey.nullable() }),
    about: 'creates a service account with a first key; the value of the key is in this answer only',
  },
  'serviceAccounts.retrieve': {
    method: 'GET',
    path: SERVICE_ACCOUNT,
    service: 'keys',
    access: 'project reader',
    query: nothing,
    body: nothing,
    output: serviceAccount,
    about: 'shows a service account',
  },
  'serviceAccounts.update': {
    method: 'POST',
    path: SERVICE_ACCOUNT,
    service: 'keys',
    access: 'project owner',
    query: nothing,
    body: z.strictObject({ name: givenName.optional(), role: z.enum(['member', 'owner']).optional() }),
    output: serviceAccount,
    about: 'renames a service account, or changes its role',
    deviation: 'keys of service accounts call models only, so the role is shown and opens nothing',
  },
  'serviceAccounts.delete': {
    method: 'DELETE',
    path: SERVICE_ACCOUNT,
    service: 'keys',
    access: 'project owner',
    query: nothing,
    body: nothing,
    output: deleted('organization.project.service_account.deleted'),
    about: 'ends all keys of a service account at once',
  },
  'serviceAccounts.createKey': {
    method: 'POST',
    path: `${SERVICE_ACCOUNT}/api_keys`,
    service: 'keys',
    access: 'project owner',
    query: nothing,
    body: z.strictObject({
      name: givenName.optional(),
      expires_in_seconds: z.int().min(1).max(3_153_600_000).nullish(),
    }),
    output: newServiceAccountKey,
    about: 'creates a further key of a service account; its value is in this answer only',
    deviation: '`scopes` is refused: a key calls the models that its limits allow',
  },
} as const satisfies Record<string, Operation>

/** Limits of one key; null: no such limit. */
export const keyLimits = {
  /** The only models that it may call: ids or aliases of the config. */
  models: z.array(z.string().min(1)).max(1_000).nullable(),
  /** A calendar month (UTC), in the unit of the project's plan: tokens or US dollars. */
  monthly_limit: z.number().positive().nullable(),
  max_requests_per_1_minute: z.int().min(1).nullable(),
  max_tokens_per_1_minute: z.int().min(1).nullable(),
}

const keyOwner = z.object({
  type: z.enum(['user', 'service_account']),
  user: z
    .object({ id: z.string(), name: z.string(), email: z.string(), role: z.string(), created_at: unixTime })
    .optional(),
  service_account: z.object({ id: z.string(), name: z.string(), role: z.string(), created_at: unixTime }).optional(),
})

const projectApiKey = z.object({
  /** `key_` + the key id. */
  id: z.string(),
  object: z.literal('organization.project.api_key'),
  name: z.string(),
  redacted_value: z.string(),
  created_at: unixTime,
  last_used_at: unixTime.nullable(),
  expires_at: unixTime.nullable(),
  owner: keyOwner,
  owner_project_access: z.enum(['active', 'inactive']),
  ...keyLimits,
})
export type ProjectApiKey = z.input<typeof projectApiKey>

const withValue = z.object({ ...projectApiKey.shape, value: z.string() })
const limitsInput = z.object(keyLimits).partial().shape
const KEYS = `${PROJECT}/api_keys` as const
const KEY = `${KEYS}/{api_key_id}` as const

export const projectKeyOperations = {
  'apiKeys.list': {
    method: 'GET',
    path: KEYS,
    service: 'keys',
    access: 'project reader',
    query: z.strictObject({
      ...cursor,
      owner_project_access: z.enum(['active', 'inactive', 'any']).default('active'),
      /** A part of the name, or the beginning of the masked value or of the id. */
      search: z.string().trim().max(256).optional(),
      api_key_ids: z.array(z.string().max(256)).max(100).optional(),
    }),
    body: nothing,
    output: listOf(projectApiKey),
    about: 'lists the live keys of a project, newest first, those of service accounts too',
    deviation: 'each key has its limits beside it; `search` and `api_key_ids` filter (ours)',
  },
  'apiKeys.create': {
    method: 'POST',
    path: KEYS,
    service: 'keys',
    access: 'project member',
    query: nothing,
    body: z.strictObject({
      name: givenName,
      expires_in_seconds: z.int().min(1).max(3_153_600_000).nullish(),
      ...limitsInput,
    }),
    output: withValue,
    about: 'creates a named key of the caller; its value is in this answer only',
    deviation: 'ours',
  },
  'apiKeys.retrieve': {
    method: 'GET',
    path: KEY,
    service: 'keys',
    access: 'project reader',
    query: nothing,
    body: nothing,
    output: projectApiKey,
    about: 'shows a key, without its value',
  },
  'apiKeys.update': {
    method: 'POST',
    path: KEY,
    service: 'keys',
    access: 'project member',
    query: nothing,
    body: z.strictObject({ expires_in_seconds: z.int().min(1).max(3_153_600_000).optional() }),
    output: projectApiKey,
    about: "changes a key's expiry",
    deviation: '`scopes` is refused; the `PATCH` beside it changes name and limits',
  },
  'apiKeys.patch': {
    method: 'PATCH',
    path: KEY,
    service: 'keys',
    access: 'project member',
    query: nothing,
    body: z.strictObject({
      name: givenName.optional(),
      expires_in_seconds: z.int().min(1).max(3_153_600_000).nullish(),
      ...limitsInput,
    }),
    output: projectApiKey,
    about: 'renames a key, or changes its limits; `null` removes a limit',
    deviation: 'ours',
  },
  'apiKeys.rotate': {
    method: 'POST',
    path: `${KEY}/rotate`,
    service: 'keys',
    access: 'project member',
    query: nothing,
    body: nothing,
    output: withValue,
    about: "replaces a key's value; the former value is refused at once, and its open streams end well",
    deviation: 'ours; the key keeps its id, name, limits and counts, so a caller who lost the response rotates again',
  },
  'apiKeys.delete': {
    method: 'DELETE',
    path: KEY,
    service: 'keys',
    access: 'project member',
    query: nothing,
    body: nothing,
    output: deleted('organization.project.api_key.deleted'),
    about: 'revokes a key at once, and cuts its open streams',
    deviation: 'a member deletes own keys, an owner all of the project, those of service accounts too',
  },
} as const satisfies Record<string, Operation>
