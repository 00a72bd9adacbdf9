/**
 * The meters that a request must pass, with their limits: the account's, its key's and the one for the model.
 */

import type { AdmitRequest, KeyLimits, LimitScope, ModelLimits, ProjectFacts } from '../port.ts'
import type { PlanFacts, ProjectKey } from './account-state.ts'
import { keyMeter, type Meter, type MeterLimits, meterNow, modelMeter, UNUSED } from './meter.ts'
import type { Use } from './use.ts'

export interface LimitedMeter {
  readonly scope: LimitScope
  /** Of a meter beside the account's own. */
  readonly name: string
  readonly meter: Meter
  readonly limits: MeterLimits
}

/** The limits that hold for the account. */
export function accountLimits({ limits }: AdmitRequest, plan: PlanFacts, project: ProjectKey | null): MeterLimits {
  const { requestsPerMinute, tokensPerMinute, requestsPerDay } = limits
  const monthly = plan.overage ? (project?.facts.hardLimit ?? null) : limitOf(limits.allowance, plan, project)
  return { requestsPerMinute, tokensPerMinute, requestsPerDay, monthly }
}

/** The month's limit, whether overage lets requests pass it or not. */
export function limitOf(allowance: number, plan: PlanFacts, project: ProjectKey | null): number {
  const hardLimit = project?.facts.hardLimit ?? null
  if (hardLimit !== null && plan.overage) return hardLimit
  return Math.min(allowance + plan.extra, hardLimit ?? Infinity)
}

/** Those beside the account's own, as of now. */
export function limitedMetersOf(
  use: Use,
  { model, takes }: AdmitRequest,
  project: ProjectKey | null,
  nowMs: number,
): LimitedMeter[] {
  if (!project) return []
  const limited = (scope: LimitScope, name: string, limits: MeterLimits): LimitedMeter => {
    return { scope, name, limits, meter: meterNow(use.meters.get(name) ?? UNUSED, limits, nowMs) }
  }
  const ofKey = keyLimits(project.limits)
  // No model serves an invalid request.
  const ofModel = takes === 'request' ? null : modelLimits(project.facts, model)
  return [
    ...(ofKey ? [limited('key', keyMeter(project.limits.keyId), ofKey)] : []),
    ...(ofModel ? [limited('model', modelMeter(ofModel.model), { ...ofModel, monthly: null })] : []),
  ]
}

/** Null: the key has no limits that are counted. */
export function keyLimits({ requestsPerMinute, tokensPerMinute, monthly }: KeyLimits): MeterLimits | null {
  if (requestsPerMinute === null && tokensPerMinute === null && monthly === null) return null
  return { requestsPerMinute, tokensPerMinute, requestsPerDay: null, monthly }
}

function modelLimits(facts: ProjectFacts, model: string | undefined): ModelLimits | null {
  const limits = facts.modelLimits.find((one) => one.model === model)
  return limits && limitsModel(limits) ? limits : null
}

export function limitsModel({ requestsPerMinute, tokensPerMinute, requestsPerDay }: ModelLimits): boolean {
  return requestsPerMinute !== null || tokensPerMinute !== null || requestsPerDay !== null
}
