/** The limits of a key, in words and from a form. */

import type { ProjectApiKey } from '@gateway/contracts/administration/projects'
import type { PlanUnit } from '@gateway/contracts/usage'
import { formatAmount, formatCount } from './format.ts'

export type KeyLimits = Pick<
  ProjectApiKey,
  'models' | 'monthly_limit' | 'max_requests_per_1_minute' | 'max_tokens_per_1_minute'
>

const MOST_NAMED = 3

export function describeLimits(limits: KeyLimits, unit: PlanUnit): string[] {
  const {
    models,
    monthly_limit: monthly,
    max_requests_per_1_minute: requests,
    max_tokens_per_1_minute: tokens,
  } = limits
  return [
    ...(monthly === null ? [] : [`${formatAmount(monthly, unit)} a month`]),
    ...(requests === null ? [] : [`${formatCount(requests)} requests a minute`]),
    ...(tokens === null ? [] : [`${formatCount(tokens)} tokens a minute`]),
    ...(models === null ? [] : [describeModels(models)]),
  ]
}

function describeModels(models: readonly string[]): string {
  if (models.length === 0) return 'no model'
  return models.length > MOST_NAMED ? `${models.length} models` : models.join(' and ')
}

/** A figure as typed; null: the field is empty. */
export function readFigure(text: string): number | null {
  return text.trim() === '' ? null : Number(text)
}

export const DAY_SECONDS = 86_400
export const EXPIRIES = [
  { value: '', label: 'Never' },
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
] as const
/** Of a key that has an expiry already. */
export const AS_IT_IS = 'keep'

/** Left out: the expiry stays; null: never. */
export function readExpiry(value: string): { expires_in_seconds?: number | null } {
  if (value === AS_IT_IS) return {}
  return { expires_in_seconds: value === '' ? null : Number(value) * DAY_SECONDS }
}
