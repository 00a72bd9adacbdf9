/**
 * The limit of an account's month, as admission counts it: the plan's allowance with top-ups, or a project's lower hard limit. With
 * overage, a hard limit alone holds.
 */

import type { PlanConfig } from '@gateway/contracts/config'
import { fromPlanUnit } from '@gateway/pricing/charge'

interface AccountLimits {
  /** Top-ups of the month, in the plan's smallest unit. */
  extra: number
  overage: boolean
  /** Of a project's key. */
  project?: { hardLimit: number | null } | null | undefined
}

/** In the plan's smallest unit. */
export function effectiveLimit(plan: PlanConfig, { extra, overage, project }: AccountLimits): number {
  const allowance = fromPlanUnit(plan.limit, plan.unit) + extra
  const hardLimit = project?.hardLimit ?? null
  if (hardLimit === null) return allowance
  return overage ? hardLimit : Math.min(allowance, hardLimit)
}

/** Requests beyond the limit are admitted, too. */
export function passesLimit({ overage, project }: AccountLimits): boolean {
  return overage && (project?.hardLimit ?? null) === null
}
