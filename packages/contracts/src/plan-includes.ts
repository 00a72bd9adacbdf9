/**
 * Which models a plan includes: guests the guest tier, free plans the models for all, direct vendor models
 * pay-as-you-go plans only.
 */

import type { ModelConfig, PlanConfig } from './config.ts'

export function planIncludes(plan: PlanConfig, model: ModelConfig): boolean {
  if (plan.guest) return model.guest
  if (model.type !== 'auto' && model.direct) return plan.payAsYouGo
  return model.availability === 'all' || plan.paid
}

/** The slugs of the plans that include a model, for the sentence that tells a caller where to go. */
export function plansThatInclude(plans: PlanConfig[], model: ModelConfig): string[] {
  return plans.filter((plan) => planIncludes(plan, model)).map((plan) => plan.slug)
}
