/**
 * The rates of a project for each served model: requests and tokens a minute, requests a day. The admission store counts all keys
 * of the project together.
 */

import type { RateLimit } from '@gateway/contracts/administration/limits'
import type { ModelConfig, PlanConfig } from '@gateway/contracts/config'
import { GatewayError } from '@gateway/contracts/errors'
import { liveModels } from '@gateway/contracts/models'
import { pageOf } from '../core/page.ts'
import { planHeld } from '../core/plans.ts'
import { readModelLimits, type StoredModelLimits, writeModelLimits } from '../db/project-limits.ts'
import type { ProjectRow } from '../db/projects.ts'
import type { AdministrationCall, AdministrationHandlers } from './call.ts'
import { openChange } from './change-limits.ts'
import { readProject } from './project-of-call.ts'

export const rateLimitHandlers = {
  'rateLimits.list': async (call, input) => {
    const project = await readProject(call, input)
    const plan = planOf(call, project)
    const held = await heldLimits(call, project)
    const rows = servedModels(call).map(({ id }) => view(plan, held.find(({ model }) => model === id) ?? noLimits(id)))
    return pageOf(rows, 'asc', input)
  },

  'rateLimits.update': async (call, input) => {
    const { project_id: projectId, rate_limit_id: id, ...requested } = input
    const model = expectModel(call, id)
    const project = await openChange(call, input)
    const plan = planOf(call, project)
    expectWithin(plan, requested)
    const before = (await heldLimits(call, project)).find((held) => held.model === model.id) ?? noLimits(model.id)
    const after = changed(before, requested)
    await writeModelLimits(call.transaction, project.tag, after)
    call.audit({
      type: isEmpty(after) ? 'rate_limit.deleted' : 'rate_limit.updated',
      projectId,
      details: { id, ...(!isEmpty(after) && { changes_requested: requested }) },
      before: { ...before },
      after: { ...after },
    })
    return view(plan, after)
  },
} satisfies Partial<AdministrationHandlers>

const PREFIX = 'rl_'

/** Auto sends each request to one of its lanes, and the lane's limits count it. */
function servedModels({ context }: AdministrationCall): ModelConfig[] {
  return liveModels(context.config.current.models, Date.now()).filter(({ type }) => type !== 'auto')
}

function expectModel(call: AdministrationCall, rateLimitId: string): ModelConfig {
  const model = servedModels(call).find(({ id }) => `${PREFIX}${id}` === rateLimitId)
  if (model) return model
  throw new GatewayError('NOT_FOUND', `There is no rate limit ${rateLimitId}: it is ${PREFIX} and a served model's id`)
}

function planOf({ context }: AdministrationCall, { plan }: Pick<ProjectRow, 'plan'>): PlanConfig {
  return planHeld(context.config.current.plans, plan)
}

async function heldLimits(
  { transaction }: AdministrationCall,
  { tag }: Pick<ProjectRow, 'tag'>,
): Promise<StoredModelLimits[]> {
  return (await readModelLimits(transaction, [tag])).get(tag)!
}

function noLimits(model: string): StoredModelLimits {
  return { model, requestsPerMinute: null, tokensPerMinute: null, requestsPerDay: null }
}

function isEmpty({ requestsPerMinute, tokensPerMinute, requestsPerDay }: StoredModelLimits): boolean {
  return requestsPerMinute === null && tokensPerMinute === null && requestsPerDay === null
}

interface Requested {
  max_requests_per_1_minute?: number | null | undefined
  max_tokens_per_1_minute?: number | null | undefined
  max_requests_per_1_day?: number | null | undefined
}

/** A limit that is left out stays. */
function changed(held: StoredModelLimits, requested: Requested): StoredModelLimits {
  const choose = (value: number | null | undefined, own: number | null) => (value === undefined ? own : value)
  return {
    model: held.model,
    requestsPerMinute: choose(requested.max_requests_per_1_minute, held.requestsPerMinute),
    tokensPerMinute: choose(requested.max_tokens_per_1_minute, held.tokensPerMinute),
    requestsPerDay: choose(requested.max_requests_per_1_day, held.requestsPerDay),
  }
}

/** A limit above the plan's would look like one that counts. */
function expectWithin(plan: PlanConfig, requested: Requested): void {
  const most = {
    max_requests_per_1_minute: plan.rpm,
    max_tokens_per_1_minute: plan.tpm,
    max_requests_per_1_day: plan.perDay,
  }
  for (const param of ['max_requests_per_1_minute', 'max_tokens_per_1_minute', 'max_requests_per_1_day'] as const) {
    const [value, ofPlan] = [requested[param], most[param]]
    if (value == null || ofPlan === undefined || value <= ofPlan) continue
    const message = `${param}: the project's plan ${plan.slug} has ${ofPlan}`
    throw new GatewayError('VALIDATION_ERROR', message, { param })
  }
}

/** The lower one holds: the plan may have changed since. */
function view(
  plan: PlanConfig,
  { model, requestsPerMinute, tokensPerMinute, requestsPerDay }: StoredModelLimits,
): RateLimit {
  const perDay = Math.min(requestsPerDay ?? Infinity, plan.perDay ?? Infinity)
  return {
    id: `${PREFIX}${model}`,
    object: 'project.rate_limit',
    model,
    max_requests_per_1_minute: Math.min(requestsPerMinute ?? Infinity, plan.rpm),
    max_tokens_per_1_minute: Math.min(tokensPerMinute ?? Infinity, plan.tpm),
    ...(perDay !== Infinity && { max_requests_per_1_day: perDay }),
  }
}
