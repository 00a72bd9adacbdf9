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
import { type AdmitContext, decide, denialBy, limitsOf } from './admit.ts'

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
  const { decision } = await decide(edge, caller, (plan) => requestWith(edge, caller, requestId, plan, 'nothing'))
  if (decision.kind === 'allow') return decision.quotaStatus.plan
  if (decision.reason !== 'tokens') throw denialBy(decision)
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
  if (!isWrong) return void (await proveKey(edge, caller))
  const { decision } = await decide(edge, caller, (plan) => requestWith(edge, caller, requestId, plan, 'request'))
  if (decision.kind === 'deny') throw denialBy(decision)
}

function requestWith(
  edge: LimitsContext,
  caller: Caller,
  requestId: string,
  planHint: string | null,
  takes: Takes,
): AdmitRequest {
  return {
    requestId,
    account: caller.account,
    keyHash: caller.keyHash,
    planHint,
    planIncludesModel: true,
    limits: limitsOf(planHint === null ? null : findPlan(edge.config.current, planHint)),
    usualTokens: LEAST_TOKENS,
    worstCharge: 0,
    leaseMs: 1,
    takes,
  }
}
