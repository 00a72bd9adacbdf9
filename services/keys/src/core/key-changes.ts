/**
 * Reads the limits that an administrator gives a key.
 */

import type { ModelConfig } from '@gateway/contracts/config'
import { GatewayError } from '@gateway/contracts/errors'
import { findModel } from '@gateway/contracts/models'
import type { PlanUnit } from '@gateway/contracts/usage'
import { fromPlanUnit } from '@gateway/pricing/charge'

/** A member that is left out changes nothing; null removes the limit. */
export interface GivenLimits {
  models?: string[] | null | undefined
  monthly_limit?: number | null | undefined
  max_requests_per_1_minute?: number | null | undefined
  max_tokens_per_1_minute?: number | null | undefined
}

export interface ChangedLimits {
  models?: string[] | null
  monthly_limit?: number | null
  monthly_unit?: PlanUnit | null
  requests_per_minute?: number | null
  tokens_per_minute?: number | null
}

export function readLimits(given: GivenLimits, models: readonly ModelConfig[], unit: PlanUnit): ChangedLimits {
  const { monthly_limit: monthly, max_requests_per_1_minute: requests, max_tokens_per_1_minute: tokens } = given
  return {
    ...(given.models !== undefined && { models: given.models && resolveModels(models, given.models) }),
    ...(monthly !== undefined && {
      monthly_limit: monthly === null ? null : readAmount(monthly, unit),
      monthly_unit: monthly === null ? null : unit,
    }),
    ...(requests !== undefined && { requests_per_minute: requests }),
    ...(tokens !== undefined && { tokens_per_minute: tokens }),
  }
}

/** Their ids, each once. */
function resolveModels(models: readonly ModelConfig[], names: readonly string[]): string[] {
  const ids = names.map((name) => {
    const model = findModel(models, name)
    if (model) return model.id
    throw new GatewayError('VALIDATION_ERROR', `models: ${name} is not a model of this gateway`, { param: 'models' })
  })
  return [...new Set(ids)]
}

function readAmount(amount: number, unit: PlanUnit): number {
  const smallest = fromPlanUnit(amount, unit)
  if (smallest >= 1 && Number.isSafeInteger(smallest)) return smallest
  const sentence = `monthly_limit: ${amount} ${unit} is more, or less, than can be counted`
  throw new GatewayError('VALIDATION_ERROR', sentence, { param: 'monthly_limit' })
}
