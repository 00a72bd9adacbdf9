/**
 * `GET /v1/plan` (ours): what the caller's plan holds: its limits, and for every model whether it is included and what
 * it costs.
 */

import type { GatewayConfig, ModelConfig, PlanConfig } from '@gateway/contracts/config'
import type { PlannedModel, PlanRecord } from '@gateway/contracts/plan-api'
import { findPlan, liveModels, planIncludes } from '@gateway/contracts/models'
import { priceFor, fromPlanUnit, toPlanUnit } from '@gateway/pricing/charge'
import { describePrice } from '../core/describe-price.ts'
import type { Edge } from '../edge.ts'
import type { Handler } from '../listen/route.ts'

export function showPlan(edge: Edge): Handler<'key'> {
  return (_request, response, caller) => {
    const config = edge.config.current
    const plan = findPlan(config, caller.plan)
    response.json({
      object: 'plan',
      plan: plan.slug,
      unit: plan.unit,
      limit: toPlanUnit(fromPlanUnit(plan.limit, plan.unit) + caller.extra, plan.unit),
      overage: caller.overage,
      requests_per_minute: plan.rpm,
      tokens_per_minute: plan.tpm,
      requests_per_day: plan.perDay ?? null,
      models: modelsOnPlan({ models: liveModels(config.models, Date.now()) }, plan),
    } satisfies PlanRecord)
  }
}

/** Every model as the plan sees it. */
export function modelsOnPlan({ models }: Pick<GatewayConfig, 'models'>, plan: PlanConfig): PlannedModel[] {
  const inOrder = [...models].sort((a, b) => (a.order ?? Infinity) - (b.order ?? Infinity) || 0)
  return inOrder.map((model) => ({
    id: model.id,
    name: model.name ?? null,
    type: model.type,
    purpose: model.purpose ?? '',
    included: planIncludes(plan, model),
    price: priceOn(plan, model),
    replacement: model.replacement ?? null,
  }))
}

function priceOn(plan: PlanConfig, model: ModelConfig): PlannedModel['price'] {
  if (model.type === 'auto' || (model.direct && !plan.payAsYouGo)) return null
  return describePrice(priceFor(model, plan))
}
