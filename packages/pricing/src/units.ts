/**
 * Between people's units (allowance tokens, US dollars) and the whole numbers that everything is counted in
 * (milli-tokens, nano-dollars). Nothing else converts.
 */

import type { PlanUnit } from '@gateway/contracts/usage'

const SMALLEST_PER_UNIT = { tokens: 1_000, usd: 1_000_000_000 } as const satisfies Record<PlanUnit, number>

/** The amount in `tokens` or `usd`, as a person reads it: 3750 milli-tokens are 3.75 tokens. */
export function toPlanUnit(amount: number, unit: PlanUnit): number {
  return amount / SMALLEST_PER_UNIT[unit]
}

/** A plan's limit or a top-up in the smallest unit. */
export function fromPlanUnit(amount: number, unit: PlanUnit): number {
  return Math.round(amount * SMALLEST_PER_UNIT[unit])
}
