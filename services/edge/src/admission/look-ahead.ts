/**
 * The account's limits outside of admission. The edge looks at them before it reads a large body. It also counts an invalid
 * request among the minute's requests.
 *
 * A look refuses only a request that admission would refuse at that moment. Admission itself still decides.
 */

import type { AdmitRequest, Takes } from '@gateway/admission/port'
import type { ConfigSource } from '@gateway/config/config-source'
import { GatewayError } from '@gateway/contracts/errors'
import { findPlan } from '@gateway/contracts/models'
import { proveKey, type Caller } from '../auth/authenticate.ts'
import type { Policy } from '../core/policy.ts'
import { type AdmitContext, decide, limitsOf, projectOf } from './admit.ts'
import { denialBy, type Denied } from './denials.ts'

export interface LimitsContext extends AdmitContext {
  config: ConfigSource
}

/** The fewest that a request takes: the edge estimates its tokens only after reading it. */
const LEAST_TOKENS = 1
/** Of a text's JSON. */
const USUAL_BYTES_PER_TOKEN = 4

/** Resolves with the account's plan; throws the refusal, or INVALID_KEY. `bytes`: of the body, as announced. */
export async function lookAtLimits(
  edge: LimitsContext,
  caller: Caller,
  requestId: string,
  bytes: number,
): Promise<string> {
  const { decision } = await decide(edge, caller, (plan, policy) =>
    requestWith(edge, caller, requestId, { plan, policy }, 'nothing'),
  )
  if (decision.kind === 'allow') return decision.quotaStatus.plan
  // The store's figures are those of the account.
  const isOfAccount = decision.reason === 'tokens' && (decision.scope ?? 'account') === 'account'
  if (!isOfAccount) throw denialFor(edge, caller, decision)
  // The wait for a text of this size: after the one for its first token, it would only be refused again.
  const { limit } = decision.quotaStatus.tokens
  const restMs = Math.ceil((Math.min(limit, bytes / USUAL_BYTES_PER_TOKEN) / limit) * 60_000)
  throw denialBy({ ...decision, retryAfterMs: decision.retryAfterMs + restMs })
}

/**
 * Before a client learns the fault of its request: its key must be alive, and a wrong request counts as one of the minute.
 * A refusal that says when to come back is no fault of the request, and counts for nothing.
 */
export async function countFault(
  edge: LimitsContext,
  caller: Caller,
  requestId: string,
  fault: unknown,
): Promise<void> {
  const isWrong = fault instanceof GatewayError && fault.details.retryAfterMs === undefined
  if (!isWrong && !isOutsideOfPlan(fault)) return void (await proveKey(edge, caller))
  const { decision } = await decide(edge, caller, (plan, policy) =>
    requestWith(edge, caller, requestId, { plan, policy }, 'request'),
  )
  if (decision.kind === 'deny') throw denialFor(edge, caller, decision)
}

/** No wait mends it. */
export function isOutsideOfPlan(refusal: unknown): boolean {
  return refusal instanceof GatewayError && refusal.details.type === 'plan_limit'
}

function denialFor(edge: LimitsContext, caller: Caller, decision: Denied): GatewayError {
  return denialBy(decision, { project: projectOf(caller, edge.plans.policyOf(caller.keyHash)) })
}

/** As the edge has cached them. */
interface Hints {
  plan: string | null
  policy: Policy | null
}

function requestWith(
  edge: LimitsContext,
  caller: Caller,
  requestId: string,
  { plan, policy }: Hints,
  takes: Takes,
): AdmitRequest {
  return {
    requestId,
    account: caller.account,
    keyHash: caller.keyHash,
    planHint: plan,
    policyHint: policy?.hint,
    planIncludesModel: true,
    limits: limitsOf(plan === null ? null : findPlan(edge.config.current, plan)),
    usualTokens: LEAST_TOKENS,
    worstCharge: 0,
    leaseMs: 1,
    takes,
  }
}
