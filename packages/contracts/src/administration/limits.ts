/**
 * The limits of projects: rates by model, permitted models, the hard limit of a month, hosted tools and data retention.
 */

import * as z from 'zod'
import { before, cursor, listOf, nothing, type Operation } from './operation.ts'

const PROJECT = '/v1/organization/projects/{project_id}'

/** Of a minute and a day; null in an update removes the project's own limit. */
const modelRates = {
  max_requests_per_1_minute: z.int().min(1).max(1_000_000),
  max_tokens_per_1_minute: z.int().min(1).max(1_000_000_000),
  max_requests_per_1_day: z.int().min(1).max(1_000_000_000),
}

const rateLimit = z.object({
  /** `rl_` + the model's id. */
  id: z.string(),
  object: z.literal('project.rate_limit'),
  model: z.string(),
  ...modelRates,
  /** Left out: neither the project nor its plan has one. */
  max_requests_per_1_day: modelRates.max_requests_per_1_day.optional(),
})
export type RateLimit = z.input<typeof rateLimit>

const RATE_LIMITS = `${PROJECT}/rate_limits` as const

export const rateLimitOperations = {
  'rateLimits.list': {
    method: 'GET',
    path: RATE_LIMITS,
    service: 'keys',
    access: 'project reader',
    query: z.strictObject({ ...cursor, ...before }),
    body: nothing,
    output: listOf(rateLimit),
    about: 'lists the rate limits of a project for each served model, by model',
    deviation: "a model without a limit of the project's own shows those of the plan",
  },
  'rateLimits.update': {
    method: 'POST',
    path: `${RATE_LIMITS}/{rate_limit_id}`,
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: z.strictObject({
      max_requests_per_1_minute: modelRates.max_requests_per_1_minute.nullish(),
      max_tokens_per_1_minute: modelRates.max_tokens_per_1_minute.nullish(),
      max_requests_per_1_day: modelRates.max_requests_per_1_day.nullish(),
    }),
    output: rateLimit,
    about: "sets a project's limits for all its requests to one model",
    deviation:
      '`null` (ours) removes a limit; batch, audio and image limits are refused, and so is more than the plan has',
  },
} as const satisfies Record<string, Operation>

const modelPermissions = z.object({
  object: z.literal('project.model_permissions'),
  mode: z.enum(['allow_list', 'deny_list']),
  model_ids: z.array(z.string()),
})
export type ModelPermissions = z.input<typeof modelPermissions>

const MODEL_PERMISSIONS = `${PROJECT}/model_permissions` as const

export const modelPermissionOperations = {
  'modelPermissions.retrieve': {
    method: 'GET',
    path: MODEL_PERMISSIONS,
    service: 'keys',
    access: 'project reader',
    query: nothing,
    body: nothing,
    output: modelPermissions,
    about: 'shows the permitted or the denied models of a project',
    deviation: '404 where the project has no list: it may call every model of its plan',
  },
  'modelPermissions.update': {
    method: 'POST',
    path: MODEL_PERMISSIONS,
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: z.strictObject({
      mode: z.enum(['allow_list', 'deny_list']),
      model_ids: z.array(z.string().min(1).max(256)).max(1_000),
    }),
    output: modelPermissions,
    about: 'permits a project the named models only, or denies them',
    deviation: 'ids and aliases of the config; a model that is not permitted is a 429 `plan_limit`',
  },
  'modelPermissions.delete': {
    method: 'DELETE',
    path: MODEL_PERMISSIONS,
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: nothing,
    output: z.object({ object: z.literal('project.model_permissions.deleted'), deleted: z.literal(true) }),
    about: 'permits a project every model of its plan again',
  },
} as const satisfies Record<string, Operation>

/** Their smallest units (nano-dollars, milli-tokens) stay below 2^53. */
const MOST_CENTS = 900_000_000
const MOST_TOKENS = 1_000_000_000_000
export const cents = z.int().max(MOST_CENTS)
export const allowanceTokens = z.int().max(MOST_TOKENS)

export const monthlyUsd = {
  currency: z.literal('USD').default('USD'),
  interval: z.literal('month').default('month'),
}

const spendLimit = z.object({
  object: z.literal('project.spend_limit'),
  currency: z.literal('USD'),
  interval: z.literal('month'),
  /** In cents; 0 where the project has `allowance` alone. */
  threshold_amount: cents,
  /** Ours: tokens of the plan's allowance. */
  allowance: allowanceTokens.optional(),
  /** `enforcing`: the month has reached it, so requests are refused. */
  enforcement: z.object({ status: z.enum(['inactive', 'enforcing']) }),
})
export type SpendLimit = z.input<typeof spendLimit>

const SPEND_LIMIT = `${PROJECT}/spend_limit` as const

export const spendLimitOperations = {
  'spendLimit.retrieve': {
    method: 'GET',
    path: SPEND_LIMIT,
    service: 'keys',
    access: 'project reader',
    query: nothing,
    body: nothing,
    output: spendLimit,
    about: "shows a project's hard limit of a calendar month (UTC)",
    deviation: '404 where the project has none',
  },
  'spendLimit.update': {
    method: 'POST',
    path: SPEND_LIMIT,
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: z.strictObject({
      ...monthlyUsd,
      threshold_amount: cents.min(1).optional(),
      allowance: allowanceTokens.min(1).optional(),
    }),
    output: spendLimit,
    about: "sets a project's hard limit of a calendar month (UTC); beyond it requests are a 402 `quota_exceeded`",
    deviation:
      'exact, also with overage; on a plan that counts tokens, `allowance` (ours, tokens) is the limit and `threshold_amount` counts nothing',
  },
  'spendLimit.delete': {
    method: 'DELETE',
    path: SPEND_LIMIT,
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: nothing,
    output: z.object({ object: z.literal('project.spend_limit.deleted'), deleted: z.literal(true) }),
    about: "removes a project's hard limit; its plan's allowance holds on",
  },
} as const satisfies Record<string, Operation>

/** OpenAI's words. */
export const permissibleTools = ['code_interpreter', 'file_search', 'image_generation', 'mcp', 'web_search'] as const
export type PermissibleTool = (typeof permissibleTools)[number]

const permission = z.object({ enabled: z.boolean() })
const change = z.strictObject({ enabled: z.boolean() }).nullish()
const hostedToolPermissions = z.object({
  code_interpreter: permission,
  file_search: permission,
  image_generation: permission,
  mcp: permission,
  web_search: permission,
})
export type HostedToolPermissions = z.input<typeof hostedToolPermissions>

const HOSTED_TOOLS = `${PROJECT}/hosted_tool_permissions` as const

export const hostedToolOperations = {
  'hostedToolPermissions.retrieve': {
    method: 'GET',
    path: HOSTED_TOOLS,
    service: 'keys',
    access: 'project reader',
    query: nothing,
    body: nothing,
    output: hostedToolPermissions,
    about: 'shows the hosted tools that requests of a project may name',
    deviation: 'a new project has none; a personal account has those of the config',
  },
  'hostedToolPermissions.update': {
    method: 'POST',
    path: HOSTED_TOOLS,
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: z.strictObject({
      code_interpreter: change,
      file_search: change,
      image_generation: change,
      mcp: change,
      web_search: change,
    }),
    output: hostedToolPermissions,
    about: 'permits a project hosted tools, or denies them',
    deviation: 'a tool also needs `hostedTools` of the model; `web_search` is `web_fetch` as well',
  },
} as const satisfies Record<string, Operation>

const RETENTION = 'zero_data_retention'
const ORGANIZATION_RETENTIONS = [
  RETENTION,
  'modified_abuse_monitoring',
  'enhanced_zero_data_retention',
  'enhanced_modified_abuse_monitoring',
] as const
const projectRetention = z.object({ object: z.literal('project.data_retention'), type: z.literal(RETENTION) })
const organizationRetention = z.object({ object: z.literal('organization.data_retention'), type: z.literal(RETENTION) })
const ALWAYS = 'always `zero_data_retention`: prompts and responses are not stored; another value is a 400'

export const dataRetentionOperations = {
  'projectDataRetention.retrieve': {
    method: 'GET',
    path: `${PROJECT}/data_retention`,
    service: 'keys',
    access: 'project reader',
    query: nothing,
    body: nothing,
    output: projectRetention,
    about: "shows a project's data retention",
    deviation: ALWAYS,
  },
  'projectDataRetention.update': {
    method: 'POST',
    path: `${PROJECT}/data_retention`,
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: z.strictObject({ retention_type: z.enum(['organization_default', 'none', ...ORGANIZATION_RETENTIONS]) }),
    output: projectRetention,
    about: "confirms a project's data retention",
    deviation: ALWAYS,
  },
  'dataRetention.retrieve': {
    method: 'GET',
    path: '/v1/organization/data_retention',
    service: 'keys',
    access: 'reader',
    query: nothing,
    body: nothing,
    output: organizationRetention,
    about: "shows the organization's data retention",
    deviation: ALWAYS,
  },
  'dataRetention.update': {
    method: 'POST',
    path: '/v1/organization/data_retention',
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: z.strictObject({ retention_type: z.enum(ORGANIZATION_RETENTIONS) }),
    output: organizationRetention,
    about: "confirms the organization's data retention",
    deviation: ALWAYS,
  },
} as const satisfies Record<string, Operation>
