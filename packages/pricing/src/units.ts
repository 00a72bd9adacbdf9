/**
 * Between the whole numbers that the system counts in and the units that people read: allowance tokens with three
 * decimals at most, or US dollars with nine.
 */

import type { PlanUnit } from '@gateway/contracts/usage'

const DECIMALS: Record<PlanUnit, number> = { tokens: 3, usd: 9 }
const SMALLEST_PER_UNIT: Record<PlanUnit, number> = { tokens: 1_000, usd: 1_000_000_000 }

/** For bodies. One correctly rounded division, so the shortest decimal that names the amount is written. */
export function toPlanUnit(amount: number, unit: PlanUnit): number {
  return amount / SMALLEST_PER_UNIT[unit]
}

/** For headers: never with an exponent, as JavaScript writes a ten-millionth of a dollar. */
export function writeInPlanUnit(amount: number, unit: PlanUnit): string {
  const digits = String(amount).padStart(DECIMALS[unit] + 1, '0')
  return `${digits.slice(0, -DECIMALS[unit])}.${digits.slice(-DECIMALS[unit])}`.replace(/\.?0+$/, '')
}

/** A plan's limit or a top-up, as whole milli-tokens or nano-dollars; smaller fractions are rounded half up. */
export function fromPlanUnit(limit: number, unit: PlanUnit): number {
  return Math.round(limit * SMALLEST_PER_UNIT[unit])
}
