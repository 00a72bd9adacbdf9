/**
 * Admission's refusals as errors. Each names its limit: that of the account, of the key, or of the account for one model.
 */

import type { AdmitDecision } from '@gateway/admission/port'
import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import type { GatewayConfig, ModelConfig } from '@gateway/contracts/config'
import { GatewayError } from '@gateway/contracts/errors'
import { plansThatInclude } from '@gateway/contracts/models'
import { invalidKey } from '../auth/authenticate.ts'
import { rateLimited } from '../core/rate-limited.ts'

export type Denied = Extract<AdmitDecision, { kind: 'deny' }>
type LimitDenied = Extract<Denied, { retryAfterMs: number }>

/** The list that leaves a model out. */
export type RefusedBy = 'plan' | 'project' | 'key'

/** A request whose limit refused. */
interface Refused {
  /** The served model, where one was chosen. */
  lane?: string | undefined
  /** The account of a project's key. */
  project?: string | undefined
}

export function denialBy(decision: Denied, { lane, project }: Refused = {}): GatewayError {
  switch (decision.reason) {
    case 'key':
      return invalidKey()
    case 'plan':
      throw new Error('a plan refuses models alone')
    case 'allowance':
      return usedUp(decision, project)
    default:
      return rateLimited(decision.reason, decision.retryAfterMs, decision.scope, lane)
  }
}

function usedUp({ scope = 'account', quotaStatus }: LimitDenied, project: string | undefined): GatewayError {
  const isOfProject = project !== undefined
  const ofAccount = isOfProject
    ? 'The allowance or the spend limit of this project'
    : 'The allowance of this billing cycle'
  const sentence = `${scope === 'key' ? 'The monthly limit of this key' : ofAccount} is used up`
  return new GatewayError('quota_exceeded', sentence, {
    scope,
    resetDate: new Date(quotaStatus.windowResetAtMs).toISOString(),
    overageEnabled: quotaStatus.overage,
    ...(isOfProject && { project: `${PROJECT_PREFIX}${project}` }),
  })
}

/** The model is outside of the plan, or of the list of the project or key. */
export function modelRefused(
  refusedBy: RefusedBy,
  planSlug: string,
  config: GatewayConfig,
  model: ModelConfig,
): GatewayError {
  if (refusedBy === 'plan') return planLimit(planSlug, config, model)
  const sentence =
    refusedBy === 'key'
      ? `The model ${model.id} is not on the list of models of this key; its owner changes the list`
      : `The model ${model.id} is not permitted in the project of this key; an owner of the project changes its model permissions`
  const scope = refusedBy === 'key' ? 'key' : 'account'
  return new GatewayError('rate_limit_exceeded', sentence, { type: 'plan_limit', scope, retryAfterMs: 0 })
}

function planLimit(planSlug: string, config: GatewayConfig, model: ModelConfig): GatewayError {
  const including = plansThatInclude(config.plans, model)
  const advice =
    including.length > 0 ? `it is included in: ${including.join(', ')}` : 'no plan of this gateway includes it'
  const sentence = `The model ${model.id} is not included in the plan ${planSlug}; ${advice}`
  return new GatewayError('rate_limit_exceeded', sentence, { type: 'plan_limit', scope: 'account', retryAfterMs: 0 })
}
