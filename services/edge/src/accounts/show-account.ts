/**
 * The account of a caller. `GET /v1/plan` (ours) shows the plan's limits, and for every model its price and whether the plan
 * includes it. `GET /billing/quota` shows the ledger's current window. `GET /v1/usage` shows the ledger's use by day or model.
 */

import { maskKey } from '@gateway/contracts/api-key'
import type { ConfigSource } from '@gateway/config/config-source'
import type { GatewayConfig, ModelConfig, PlanConfig } from '@gateway/contracts/config'
import type { QuotaRecord } from '@gateway/contracts/metering-api'
import { findPlan, liveModels, planIncludes } from '@gateway/contracts/models'
import type { PlannedModel, PlanRecord } from '@gateway/contracts/plan-api'
import { usageQuery, completeUsageQuestion } from '@gateway/contracts/usage-api'
import { priceFor, toPlanUnit } from '@gateway/pricing/charge'
import { toUsageRecord } from '@gateway/pricing/usage-record'
import { describePrice } from '../core/describe-price.ts'
import { effectiveLimit } from '../core/effective-limit.ts'
import { type Policy, refusalOf } from '../core/policy.ts'
import type { ProvenCaller } from '../auth/authenticate.ts'
import type { LedgerFigures } from '../rpc/service-clients.ts'
import type { Handler } from '../http/handler.ts'
import { parseBody } from '../requests/inference-kinds.ts'

interface AccountContext {
  config: ConfigSource
  figures: LedgerFigures
}

export function showPlan(edge: AccountContext): Handler<'key'> {
  return (_request, response, caller) => {
    const config = edge.config.current
    const { plan, limit } = allowanceOf(config, caller)
    response.json({
      object: 'plan',
      plan: plan.slug,
      unit: plan.unit,
      limit: toPlanUnit(limit, plan.unit),
      overage: caller.overage,
      requests_per_minute: plan.rpm,
      tokens_per_minute: plan.tpm,
      requests_per_day: plan.perDay ?? null,
      models: modelsOnPlan({ models: liveModels(config.models, Date.now()) }, plan, caller.project?.policy),
    } satisfies PlanRecord)
  }
}

/** Every model as plan and policy see it. */
export function modelsOnPlan(
  { models }: Pick<GatewayConfig, 'models'>,
  plan: PlanConfig,
  policy?: Policy,
): PlannedModel[] {
  const inOrder = [...models].sort((a, b) => (a.order ?? Infinity) - (b.order ?? Infinity) || 0)
  return inOrder.map((model) => ({
    id: model.id,
    name: model.name ?? null,
    type: model.type,
    purpose: model.purpose ?? '',
    included: planIncludes(plan, model) && (policy === undefined || refusalOf(policy, model) === null),
    price: priceOn(plan, model),
    replacement: model.replacement ?? null,
  }))
}

function priceOn(plan: PlanConfig, model: ModelConfig): PlannedModel['price'] {
  if (model.type === 'auto' || (model.direct && !plan.payAsYouGo)) return null
  return describePrice(priceFor(model, plan))
}

export function showQuota(edge: AccountContext): Handler<'key'> {
  return async (_request, response, caller) => {
    const { plan, limit } = allowanceOf(edge.config.current, caller)
    const { used, resetAtMs } = await edge.figures.quota({ account: caller.account, unit: plan.unit })
    response.json({
      object: 'quota',
      planSlug: plan.slug,
      used: toPlanUnit(used, plan.unit),
      limit: toPlanUnit(limit, plan.unit),
      remaining: toPlanUnit(Math.max(0, limit - used), plan.unit),
      resetAt: new Date(resetAtMs).toISOString(),
      unit: plan.unit,
      keyPrefix: maskKey(caller.keyId),
      source: 'ledger',
    } satisfies QuotaRecord)
  }
}

/** `limit`: with top-ups, in the plan's smallest unit. */
function allowanceOf(config: GatewayConfig, caller: ProvenCaller): { plan: PlanConfig; limit: number } {
  const plan = findPlan(config, caller.plan)
  return { plan, limit: effectiveLimit(plan, caller) }
}

export function showUsage(edge: AccountContext): Handler<'account'> {
  return async (request, response, account) => {
    const question = completeUsageQuestion(parseBody(usageQuery, request.query), Date.now())
    const { from, to, group_by: groupBy, session } = question
    const wanted = { from, to, groupBy, session }
    const groups = account === null ? [] : (await edge.figures.usage({ account, ...wanted })).groups
    response.json(toUsageRecord(question, groups))
  }
}
