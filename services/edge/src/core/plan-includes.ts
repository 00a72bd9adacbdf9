/**
 * Which models a plan includes: guests the guest tier, free plans what is open to all, direct vendor models
 * pay-as-you-go plans only.
 */

import type { GatewayConfig, ModelConfig, PlanConfig } from '@gateway/contracts/config'
import { GatewayError } from '@gateway/contracts/errors'

export function planIncludes(plan: PlanConfig, model: ModelConfig): boolean {
  if (plan.guest) return model.guest
  if (model.type !== 'auto' && model.direct) return plan.payAsYouGo
  return model.availability === 'all' || plan.paid
}

/** The slugs of the plans that include a model, for the sentence that tells a caller where to go. */
export function plansThatInclude(plans: PlanConfig[], model: ModelConfig): string[] {
  return plans.filter((plan) => planIncludes(plan, model)).map((plan) => plan.slug)
}

/** An account can hold a plan that this gateway's configuration no longer has: the operator's to mend. */
export function findPlan(config: GatewayConfig, slug: string): PlanConfig {
  const plan = config.plans.find((candidate) => candidate.slug === slug)
  if (!plan) throw new GatewayError('SERVICE_UNAVAILABLE', `The plan ${slug} is not configured on this gateway`)
  return plan
}
