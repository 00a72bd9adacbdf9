/**
 * The limits of a project's key: as the table holds them, as the admission store gets them, and as administrators read them.
 */

import type { KeyLimits } from '@gateway/admission/port'
import type { KeyPolicy } from '@gateway/contracts/administration/policy'
import type { PlanUnit } from '@gateway/contracts/usage'

/** A row's limits, as JSON brings them. */
export interface StoredLimits {
  expiresAtMs: number | null
  models: string[] | null
  /** In the smallest unit. */
  monthlyLimit: number | null
  monthlyUnit: PlanUnit | null
  requestsPerMinute: number | null
  tokensPerMinute: number | null
  /** The administrator who created the key; null: a service account. */
  createdBy: string | null
}

/**
 * `unit`: of the account's plan. A monthly limit in another unit admits nothing until an administrator sets it again. No rate turns
 * tokens into dollars, and a change of plan must not remove a limit.
 */
export function limitsForAdmission(keyId: string, stored: StoredLimits, unit: PlanUnit): KeyLimits {
  const { expiresAtMs, monthlyLimit, monthlyUnit, requestsPerMinute, tokensPerMinute } = stored
  const monthly = monthlyUnit === null || monthlyUnit === unit ? monthlyLimit : 0
  const policy = JSON.stringify(policyOf(stored))
  return { keyId, expiresAtMs, monthly, requestsPerMinute, tokensPerMinute, policy }
}

const PERSON = 'user-'

function policyOf({ models, createdBy }: StoredLimits): KeyPolicy {
  return { models, userId: createdBy?.startsWith(PERSON) ? createdBy : null }
}
