/**
 * The plans of the config, as this service needs them.
 */

import type { PlanConfig } from '@gateway/contracts/config'
import type { PlanUnit } from '@gateway/contracts/usage'

const MINUTES_PER_DAY = 1_440

export function guestPlan(plans: readonly PlanConfig[]): PlanConfig {
  const plan = plans.find(({ guest }) => guest)
  if (!plan) throw new Error('the config has no plan for guests')
  return plan
}

export function defaultPlan(plans: readonly PlanConfig[]): PlanConfig {
  const plan = plans.find((candidate) => candidate.default)
  if (!plan) throw new Error('the config has no default plan')
  return plan
}

/** A guest's plan; an operator may have set another one than the guests' own. */
export function planHeld(plans: readonly PlanConfig[], slug: string): PlanConfig {
  return plans.find((plan) => plan.slug === slug) ?? guestPlan(plans)
}

/** Accounts on a plan that the config no longer has count in tokens, as plans do that say nothing. */
export function unitOf(plans: readonly PlanConfig[], slug: string): PlanUnit {
  return plans.find((plan) => plan.slug === slug)?.unit ?? 'tokens'
}

/** Top-ups in the unit of the plan. */
export function extraIn(
  plans: readonly PlanConfig[],
  { plan, extraMilliTokens, extraNanoUsd }: { plan: string; extraMilliTokens: number; extraNanoUsd: number },
): number {
  return unitOf(plans, plan) === 'tokens' ? extraMilliTokens : extraNanoUsd
}

/** The requests per day of a plan: its own cap, or its rate per minute times a day. */
export function requestsPerDay(plan: PlanConfig): number {
  return plan.perDay ?? plan.rpm * MINUTES_PER_DAY
}
