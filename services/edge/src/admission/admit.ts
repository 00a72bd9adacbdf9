/**
 * Admission of one request: choose the lane for the account's plan, and for the policies of a project and its key. Then one
 * call checks and reserves everything.
 *
 * Plan and policies are hints that the store corrects. Where the store lacks a fact (MISS, COLD), its owner writes it, and the edge
 * repeats the call. The store reserves nothing for a request that it does not admit. Where only running requests stand in the way, it
 * waits for them.
 */

import type { AdmitDecision, AdmitRequest, PlanLimits, QuotaStatus, Takes } from '@gateway/admission/port'
import type { GatewayConfig, ModelConfig, PlanConfig } from '@gateway/contracts/config'
import { GatewayError } from '@gateway/contracts/errors'
import type { HostedCalls } from '@gateway/contracts/hosted-tools'
import { findPlan, planIncludes } from '@gateway/contracts/models'
import type { Price } from '@gateway/contracts/usage'
import { priceFor, worstCharge, fromPlanUnit } from '@gateway/pricing/charge'
import { fillKey, orUnavailable, type AuthContext, type Caller } from '../auth/authenticate.ts'
import { chargeBounds } from '../core/charge-bounds.ts'
import { chooseLane, type LaneChoice } from '../core/choose-lane.ts'
import type { TokenEstimate } from '../core/estimate-tokens.ts'
import { windowOf } from '../core/lane-window.ts'
import { permittedCalls, type Policy, refusalOf } from '../core/policy.ts'
import type { EdgeMetrics } from '../metrics.ts'
import type { MeteringClient } from '../rpc/service-clients.ts'
import type { InferenceRequest } from '../requests/inference-kinds.ts'
import { type AllowanceLines, type Decision, isPending } from './allowance-lines.ts'
import { denialBy, modelRefused, type RefusedBy } from './denials.ts'
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
  allowanceLines: AllowanceLines
}

export interface Admitted extends LaneChoice {
  plan: PlanConfig
  /** Of a project's key. */
  policy: Policy | null
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

/** A plan with its lane and price for the request. */
export interface Offer {
  plan: PlanConfig
  policy: Policy | null
  /** Null: `refusedBy` does not include the model. */
  chosen: Omit<Admitted, 'plan' | 'policy' | 'quotaStatus' | 'waitedMs'> | null
  refusedBy: RefusedBy
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
  const { decision, waitedMs } = await decide(edge, caller, (planHint, policy) => {
    offer = planHint === null ? null : makeOffer(config, planHint, model, inference, policy)
    return admitRequestOf(caller, requestId, planHint, offer)
  })
  const { plan, policy, chosen, refusedBy } = (offer as Offer | null) ?? NO_OFFER
  if (decision.kind === 'deny') {
    if (decision.reason === 'plan') throw modelRefused(refusedBy, decision.quotaStatus.plan, config, model)
    throw denialBy(decision, { lane: chosen?.lane.id, project: projectOf(caller, policy) })
  }
  if (!plan || !chosen) throw new Error('admission allowed a request that was offered no lane')
  if (chosen.wantedId !== undefined) edge.metrics.autoChose(chosen.wantedId, chosen.lane.id)
  return { plan, policy, ...chosen, quotaStatus: decision.quotaStatus, waitedMs }
}

/** Only a project's key has policies. */
export function projectOf({ account }: Caller, policy: Policy | null): string | undefined {
  return policy === null ? undefined : account
}

const NO_OFFER = { plan: null, policy: null, chosen: null, refusedBy: 'plan' } as const

type RequestFor = (planHint: string | null, policy: Policy | null) => AdmitRequest

interface Decided {
  decision: Decision
  /** For the store, at its last decision. */
  waitedMs: number
}

/** `requestFor` gets the cached plan and policies; null: the edge has none. */
export async function decide(edge: AdmitContext, caller: Caller, requestFor: RequestFor): Promise<Decided> {
  let last = await decideNow(edge, caller, requestFor)
  if (!isPending(last.decision)) return last
  const decision = await edge.allowanceLines.wait(caller, last.decision, async () => {
    last = await decideNow(edge, caller, requestFor)
    return last.decision
  })
  if (isPending(decision)) noteDecision(edge, last.decision, last.waitedMs)
  return { decision, waitedMs: last.waitedMs }
}

/** Calls the store until it decides. */
async function decideNow(edge: AdmitContext, caller: Caller, requestFor: RequestFor): Promise<Decided> {
  let planHint = edge.plans.planOf(caller.account)
  let policy = edge.plans.policyOf(caller.keyHash)
  let waitedMs = 0
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { decision, tookMs } = await callStore(edge, requestFor(planHint, policy))
    waitedMs += tookMs
    switch (decision.kind) {
      case 'allow':
      case 'deny':
        return { decision, waitedMs }
      case 'plan':
        planHint = decision.plan
        edge.plans.remember(caller.account, planHint)
        if (decision.policy) policy = edge.plans.rememberPolicy(caller.keyHash, decision.policy)
        break
      case 'miss':
        planHint = await fillKey(edge, caller)
        break
      case 'cold':
        await edge.metering.warm(caller.account, decision.keyId)
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
    // The request waits, and is counted once.
    if (!isPending(decision)) noteDecision(edge, decision, tookMs, request.takes)
    return { decision, tookMs }
  } finally {
    edge.shedder.leave()
  }
}

function noteDecision(edge: AdmitContext, decision: AdmitDecision, tookMs: number, takes?: Takes): void {
  // A look that passes is followed by the request's own call.
  if (takes === undefined || decision.kind === 'deny') edge.metrics.admission(decision, tookMs)
  // A key that the store lacks is mostly made up.
  if (decision.kind === 'deny' || decision.kind === 'miss') edge.shedder.turnedAway()
}

export function makeOffer(
  config: GatewayConfig,
  planSlug: string,
  model: ModelConfig,
  inference: InferenceRequest,
  policy: Policy | null = null,
): Offer {
  const plan = findPlan(config, planSlug)
  if (!planIncludes(plan, model)) return { plan, policy, chosen: null, refusedBy: 'plan' }
  const refusedBy = policy && refusalOf(policy, model)
  if (refusedBy) return { plan, policy, chosen: null, refusedBy }
  const chooseUnder = (lists: Policy | null) =>
    chooseLane(config, plan, model, inference.needs, inference.messages, Date.now(), lists)
  const choice = chooseUnder(policy)
  if (!choice) {
    const isListed = policy !== null && chooseUnder(null) !== null
    return { plan, policy, chosen: null, refusedBy: isListed ? 'project' : 'plan' }
  }
  return { plan, policy, chosen: priced(config, plan, choice, inference, policy), refusedBy: 'plan' }
}

function priced(
  config: GatewayConfig,
  plan: PlanConfig,
  choice: LaneChoice,
  inference: InferenceRequest,
  policy: Policy | null,
): Offer['chosen'] {
  const { lane } = choice
  const price = priceFor(lane, plan)
  const windowTokens = windowOf(config, lane)
  const estimate = inference.estimate(lane, windowTokens)
  const allowed = inference.hostedCalls?.(lane)
  const hosted = allowed && policy ? permittedCalls(policy, allowed) : allowed
  const bounds = chargeBounds(estimate, hosted, windowTokens)
  return { ...choice, price, estimate, hosted, worstCharge: worstCharge(price, bounds) }
}

function admitRequestOf(caller: Caller, requestId: string, planHint: string | null, offer: Offer | null): AdmitRequest {
  const { plan, policy, chosen } = offer ?? NO_OFFER
  return {
    requestId,
    account: caller.account,
    keyHash: caller.keyHash,
    planHint,
    policyHint: policy?.hint,
    model: policy ? chosen?.lane.id : undefined,
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
