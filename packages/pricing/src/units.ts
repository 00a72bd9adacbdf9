/**
 * Between the whole numbers that the system counts in and the units that people read: allowance tokens with three
 * decimals at most, or US dollars with nine.
 */

import type { PlanUnit } from '@gateway/contracts/usage'

const SMALLEST_PER_UNIT: Record<PlanUnit, number> = { tokens: 1_000, usd: 1_000_000_000 }

/** For bodies and headers. One correctly rounded division, so the shortest decimal that names the amount is written. */
export function toPlanUnit(amount: number, unit: PlanUnit): number {
  return amount / SMALLEST_PER_UNIT[unit]
}

/** A plan's limit or a top-up, as whole milli-tokens or nano-dollars; smaller fractions are rounded half up. */
export function fromPlanUnit(limit: number, unit: PlanUnit): number {
  return Math.round(limit * SMALLEST_PER_UNIT[unit])
}
