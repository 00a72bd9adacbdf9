/**
 * A project's own limits, in the words and units of the admission store.
 */

import type { ProjectFacts } from '@gateway/admission/port'
import type { ProjectPolicy } from '@gateway/contracts/administration/policy'
import type { PlanUnit } from '@gateway/contracts/usage'

export interface HardLimits {
  spendCents: number | null
  allowanceTokens: number | null
}

interface Limits extends HardLimits {
  models: ProjectPolicy['models']
  hostedTools: string[]
  policyVersion: number
}

export function projectFacts(limits: Limits, modelLimits: ProjectFacts['modelLimits'], unit: PlanUnit): ProjectFacts {
  const policy: ProjectPolicy = { models: limits.models, hostedTools: limits.hostedTools }
  return {
    hardLimit: hardLimitIn(unit, limits),
    modelLimits,
    policy: JSON.stringify(policy),
    policyVersion: limits.policyVersion,
  }
}

const NANO_USD_PER_CENT = 10_000_000
const MILLI_TOKENS_PER_TOKEN = 1_000

/** In the smallest unit. The limit in the other unit counts nothing. */
export function hardLimitIn(unit: PlanUnit, { spendCents, allowanceTokens }: HardLimits): number | null {
  if (unit === 'usd') return spendCents === null ? null : spendCents * NANO_USD_PER_CENT
  return allowanceTokens === null ? null : allowanceTokens * MILLI_TOKENS_PER_TOKEN
}

/** The limit that refuses requests, with the top-ups of the month. Overage passes the plan's, and never the hard one. */
export function effectiveLimit({
  planLimit,
  overage,
  hardLimit,
}: {
  planLimit: number
  overage: boolean
  hardLimit: number | null
}): number {
  if (hardLimit === null) return planLimit
  return overage ? hardLimit : Math.min(planLimit, hardLimit)
}
