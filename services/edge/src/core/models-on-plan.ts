/**
 * Every model as a plan sees it: whether it is included, and what it costs there.
 */

import type { GatewayConfig, ModelConfig, PlanConfig } from '@gateway/contracts/config'
import type { PlannedModel } from '@gateway/contracts/plan-api'
import { priceFor } from '@gateway/pricing/price'
import { describePrice } from './describe-price.ts'
import { planIncludes } from '@gateway/contracts/models'

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
