/**
 * One scale of effort for all APIs. Chat has `reasoning_effort`, Responses `reasoning.effort`, and Messages
 * `output_config.effort` or a budget of `thinking`. Vendors' profiles hold the part of the scale that each model takes.
 * This file finds the nearest value.
 */

import { plainNumber } from '@gateway/contracts/json'

/** From no thought to the most (the types of `openai` 7.57, 2026). */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]

/** Every server that takes the parameter knows these three (docs/backends.md). */
export const COMMON_EFFORTS: readonly Effort[] = ['low', 'medium', 'high']

export function isEffort(value: unknown): value is Effort {
  return (EFFORTS as readonly unknown[]).includes(value)
}

/**
 * The effort nearest to the requested one. A client pays for no more thought than it requested, unless the target takes
 * no less. A request to think stays one. Returns null where the target takes no effort.
 */
export function nearestEffort(requested: Effort, takes: (effort: Effort) => boolean): Effort | null {
  if (takes(requested)) return requested
  const at = EFFORTS.indexOf(requested)
  const less = EFFORTS.slice(1, at).toReversed()
  return [...less, ...EFFORTS.slice(at + 1), EFFORTS[0]].find(takes) ?? null
}

/** The model then thinks although the client wanted no thoughts, or the other way round. */
export function changesThinking(requested: Effort, sent: Effort): boolean {
  return requested !== sent && (requested === 'none' || sent === 'none')
}

/** Tokens of thought, for models that take a budget. The API takes no less than 1,024; the others are ours. */
const BUDGETS: Record<Exclude<Effort, 'none'>, number> = {
  minimal: 1_024,
  low: 1_024,
  medium: 4_096,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768,
}
export const SMALLEST_BUDGET = 1_024

export function budgetOf(effort: Exclude<Effort, 'none'>): number {
  return BUDGETS[effort]
}

/** The way back: a Messages client's budget as the effort that it would have come from. */
export function effortOfBudget(requested: unknown): Effort | undefined {
  const budget = plainNumber(requested)
  if (typeof budget !== 'number') return undefined
  return (['xhigh', 'high', 'medium', 'low'] as const).find((effort) => budget >= BUDGETS[effort])
}
