/**
 * Admission of one request: choose the lane for the account's plan, then one call that checks and reserves everything.
 *
 * The plan is a hint that the store corrects. Where the store lacks a fact (MISS, COLD), its owner writes it, and the edge
 * repeats the call. The store reserves nothing for a request that it does not admit.
 */

import type { AdmitDecision, AdmitRequest, PlanLimits, QuotaStatus } from '@gateway/admission/port'
import type { GatewayConfig, ModelConfig, PlanConfig } from '@gateway/contracts/config'
import { GatewayError } from '@gateway/contracts/errors'
import type { HostedCalls } from '@gateway/contracts/hosted-tools'
import { findPlan, planIncludes, plansThatInclude } from '@gateway/contracts/models'
import type { Price } from '@gateway/contracts/usage'
import { priceFor, worstCharge, fromPlanUnit } from '@gateway/pricing/charge'
import { fillKey, invalidKey, orUnavailable, type AuthContext, type Caller } from '../auth/authenticate.ts'
import { chargeBounds } from '../core/charge-bounds.ts'
import { chooseLane, type LaneChoice } from '../core/choose-lane.ts'
import type { TokenEstimate } from '../core/estimate-tokens.ts'
import { rateLimited } from '../core/rate-limited.ts'
import { windowOf } from '../core/lane-window.ts'
import type { EdgeMetrics } from '../metrics.ts'
import type { MeteringClient } from '../rpc/service-clients.ts'
import type { InferenceRequest } from '../requests/inference-kinds.ts'
import { LEASE_MS } from './running-requests.ts'

/** Counts the calls of admission that wait. */
interface CallLoad {
  enter(): void
  leave(): void
  /** The store refused the caller. */
  turnedAway(): void
}

export interface AdmitContext extends AuthContext {
  metering: MeteringClient
  metrics: EdgeMetrics
  shedder: CallLoad
}

export interface Admitted extends LaneChoice {
  plan: PlanConfig
  price: Price
  estimate: TokenEstimate
  /** Calls of a vendor's tools that the request may make; undefined: none. */
  hosted?: HostedCalls | undefined
  /** The request's reservation of the allowance while it runs. */
  worstCharge: number
  quotaStatus: QuotaStatus
  /** For the store. */
  waitedMs: number
}

/** A plan with its lane and price for the request; null: the plan does not include the model. */
export interface Offer {
  plan: PlanConfig
  chosen: Omit<Admitted, 'plan' | 'quotaStatus' | 'waitedMs'> | null
}

/** PLAN, MISS and COLD once each, and one of them again where another edge was quicker. */
const MAX_ROUNDS = 6

export async function admit(
  edge: AdmitContext,
  config: GatewayConfig,
  caller: Caller,
  requestId: string,
  model: ModelConfig,
  inference: InferenceRequest,
): Promise<Admitted> {
  let offer: Offer | null = null
  const { decision, waitedMs } = await decide(edge, caller, (planHint) => {
    offer = planHint === null ? null : makeOffer(config, planHint, model, inference)
    return admitRequestOf(caller, requestId, planHint, offer)
  })
  if (decision.kind === 'deny') throw denial(decision, config, model)
  const { plan, chosen } = (offer as Offer | null) ?? { plan: null, chosen: null }
  if (!plan || !chosen) throw new Error('admission allowed a request that was offered no lane')
  if (chosen.wantedId !== undefined) edge.metrics.autoChose(chosen.wantedId, chosen.lane.id)
  return { plan, ...chosen, quotaStatus: decision.quotaStatus, waitedMs }
}

type Decision = Extract<AdmitDecision, { kind: 'allow' | 'deny' }>

/** Calls the store until it decides. `requestFor` gets the cached plan of the account; null: the edge has none. */
export async function decide(
  edge: AdmitContext,
  caller: Caller,
  requestFor: (planHint: string | null) => AdmitRequest,
): Promise<{ decision: Decision; waitedMs: number }> {
  let planHint = edge.plans.planOf(caller.account)
  let waitedMs = 0
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { decision, tookMs } = await callStore(edge, requestFor(planHint))
    waitedMs += tookMs
    switch (decision.kind) {
      case 'allow':
      case 'deny':
        return { decision, waitedMs }
      case 'plan':
        planHint = decision.plan
        edge.plans.remember(caller.account, planHint)
        break
      case 'miss':
        planHint = await fillKey(edge, caller)
        break
      case 'cold':
        await edge.metering.warm(caller.account)
        break
    }
  }
  throw new GatewayError('SERVICE_UNAVAILABLE', 'Admission came to no decision; try again shortly')
}

/** The measured time is the store's alone: calls to other services happen outside. */
async function callStore(
  edge: AdmitContext,
  request: AdmitRequest,
): Promise<{ decision: AdmitDecision; tookMs: number }> {
  const calledAtMs = performance.now()
  edge.shedder.enter()
  try {
    const decision = await orUnavailable(edge.admission.admit(request))
    const tookMs = performance.now() - calledAtMs
    // A look that passes is followed by the request's own call.
    if (request.takes === undefined || decision.kind === 'deny') edge.metrics.admission(decision, tookMs)
    // A key that the store lacks is mostly made up.
    if (decision.kind === 'deny' || decision.kind === 'miss') edge.shedder.turnedAway()
    return { decision, tookMs }
  } finally {
    edge.shedder.leave()
  }
}

export function makeOffer(
  config: GatewayConfig,
  planSlug: string,
  model: ModelConfig,
  inference: InferenceRequest,
): Offer {
  const plan = findPlan(config, planSlug)
  const choice = planIncludes(plan, model)
    ? chooseLane(config, plan, model, inference.needs, inference.messages, Date.now())
    : null
  if (!choice) return { plan, chosen: null }
  const price = priceFor(choice.lane, plan)
  const windowTokens = windowOf(config, choice.lane)
  const estimate = inference.estimate(choice.lane, windowTokens)
  const hosted = inference.hostedCalls?.(choice.lane)
  const bounds = chargeBounds(estimate, hosted, windowTokens)
  return { plan, chosen: { ...choice, price, estimate, hosted, worstCharge: worstCharge(price, bounds) } }
}

function admitRequestOf(caller: Caller, requestId: string, planHint: string | null, offer: Offer | null): AdmitRequest {
  const { plan, chosen } = offer ?? { plan: null, chosen: null }
  return {
    requestId,
    account: caller.account,
    keyHash: caller.keyHash,
    planHint,
    planIncludesModel: chosen !== null,
    limits: limitsOf(plan),
    usualTokens: chosen?.estimate.usualTokens ?? 0,
    worstCharge: chosen?.worstCharge ?? 0,
    leaseMs: LEASE_MS,
  }
}

/** The store reads no limits of an unknown plan. */
export function limitsOf(plan: PlanConfig | null): PlanLimits {
  return {
    requestsPerMinute: plan?.rpm ?? 1,
    tokensPerMinute: plan?.tpm ?? 1,
    requestsPerDay: plan?.perDay ?? null,
    allowance: plan ? fromPlanUnit(plan.limit, plan.unit) : 0,
  }
}

type Denied = Extract<AdmitDecision, { kind: 'deny' }>

function denial(decision: Denied, config: GatewayConfig, model: ModelConfig): GatewayError {
  if (decision.reason === 'plan') return planLimit(decision.quotaStatus.plan, config, model)
  return denialBy(decision)
}

/** By a limit that has nothing to do with the model. */
export function denialBy(decision: Denied): GatewayError {
  switch (decision.reason) {
    case 'key':
      return invalidKey()
    case 'plan':
      throw new Error('a plan refuses models alone')
    case 'allowance':
      return new GatewayError('quota_exceeded', 'The allowance of this billing cycle is used up', {
        resetDate: new Date(decision.quotaStatus.windowResetAtMs).toISOString(),
        overageEnabled: decision.quotaStatus.overage,
      })
    default:
      return rateLimited(decision.reason, decision.retryAfterMs)
  }
}

export function planLimit(planSlug: string, config: GatewayConfig, model: ModelConfig): GatewayError {
  const including = plansThatInclude(config.plans, model)
  const advice =
    including.length > 0 ? `it is included in: ${including.join(', ')}` : 'no plan of this gateway includes it'
  const sentence = `The model ${model.id} is not included in the plan ${planSlug}; ${advice}`
  return new GatewayError('rate_limit_exceeded', sentence, { type: 'plan_limit', retryAfterMs: 0 })
}
