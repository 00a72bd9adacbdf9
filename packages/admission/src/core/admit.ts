/**
 * The decision: may this request run now, and what does the account's use become? Checks everything, then takes
 * everything; a refused request takes nothing. `lua/decide.lua` is the same decision inside Redis.
 */

import type { AdmitDecision, AdmitRequest, DenyReason, LimitScope, QuotaStatus } from '../port.ts'
import { keyState, type AccountState, type PlanFacts, type ProjectKey } from './account-state.ts'
import { accountLimits, limitOf, type LimitedMeter, limitedMetersOf } from './limits.ts'
import {
  isTight,
  keyMeter,
  meterNow,
  type MeterLimits,
  placeTaken,
  requestTaken,
  tokensCorrected,
  UNUSED,
  usedOf,
  waitsMs,
} from './meter.ts'
import { monthNamed } from './month.ts'
import { refilled, tokensLeft, waitForEmpty, waitForFull } from './rates.ts'
import type { OverRecord, RequestRecord, RunningRecord } from './records.ts'
import { type Use, withMeter, withRecord } from './use.ts'

interface AccountNow {
  state: AccountState
  /** In the window of `nowMs`, with lapsed leases released. */
  use: Use
  /** The record under the request's id. */
  held: RequestRecord | undefined
}

export interface Admission {
  decision: AdmitDecision
  use: Use
  /** The request's record, where it was admitted now. */
  record: RunningRecord | null
}

/** A request before its meters. */
interface Passing {
  request: AdmitRequest
  plan: PlanFacts
  project: ProjectKey | null
  /** Its own meter is as of now. */
  use: Use
  limits: MeterLimits
  /** The meters beside the account's. */
  others: LimitedMeter[]
  nowMs: number
}

export function admit({ state, use, held }: AccountNow, request: AdmitRequest, nowMs: number): Admission {
  const refuse = (decision: AdmitDecision): Admission => ({ decision, use, record: null })
  const key = keyState(state, request.keyHash, { window: use.window, nowMs })
  if (key.kind === 'dead') return refuse({ kind: 'deny', reason: 'key' })
  if (key.kind === 'unknown') return refuse({ kind: 'miss' })
  const { plan, project } = key
  const isHinted = project === null || project.policy.hint === request.policyHint
  if (plan.plan !== request.planHint || !isHinted) return refuse(otherPlan(plan, project))
  const limits = accountLimits(request, plan, project)
  const others = limitedMetersOf(use, request, project, nowMs)
  const passing: Passing = { request, plan, project, use: meterNow(use, limits, nowMs), limits, others, nowMs }
  if (request.takes === 'request') return countRequest(passing, use)
  const cold = findUnknown(passing)
  if (cold) return { decision: cold, use: awaitTotal(use, cold.keyId), record: null }
  if (held && held.state !== 'over') return refuse(allow(passing, held.window))
  const obstacle = findObstacle(passing)
  if (obstacle) return refuse(deny(passing, obstacle))
  if (request.takes === 'nothing') return refuse(allow(passing, use.window))
  return take(passing, held)
}

function otherPlan({ plan }: PlanFacts, project: ProjectKey | null): AdmitDecision {
  return project ? { kind: 'plan', plan, policy: project.policy } : { kind: 'plan', plan }
}

function findUnknown({ use, others, project }: Passing): Extract<AdmitDecision, { kind: 'cold' }> | null {
  const isKeyUnknown = others.some(({ limits, meter }) => limits.monthly !== null && !meter.known)
  if (isKeyUnknown) return { kind: 'cold', keyId: project!.limits.keyId }
  return use.known ? null : { kind: 'cold' }
}

/** From now on, the store keeps the totals of this key. */
function awaitTotal(use: Use, keyId: string | undefined): Use {
  if (keyId === undefined || use.meters.has(keyMeter(keyId))) return use
  return withMeter(use, keyMeter(keyId), UNUSED)
}

/** Counts a request that runs nowhere. */
function countRequest(passing: Passing, before: Use): Admission {
  const { use, limits, others, nowMs } = passing
  const obstacle = longest(passing, ([reason]) => reason === 'requests')
  if (obstacle) return { decision: deny(passing, obstacle), use: before, record: null }
  const own = placeTaken(use, limits, nowMs)
  const logged = others.filter((one) => one.limits.requestsPerMinute !== null)
  const after = logged.reduce(
    (passed, { name, meter, limits: ofMeter }) => {
      const { log, day } = placeTaken(meter, ofMeter, nowMs)
      return withMeter(passed, name, { ...(passed.meters.get(name) ?? UNUSED), log, day })
    },
    { ...before, log: own.log },
  )
  return { decision: allow({ ...passing, use: own }, use.window), use: after, record: null }
}

function withPassed(use: Use, passed: LimitedMeter[]): Use {
  return passed.reduce((after, { name, meter }) => withMeter(after, name, meter), use)
}

type Reason = Exclude<DenyReason, 'key'>
type Obstacle = { reason: Reason; scope: LimitScope; retryAfterMs: number }

function findObstacle(passing: Passing): Obstacle | null {
  if (!passing.request.planIncludesModel) return { reason: 'plan', scope: 'account', retryAfterMs: 0 }
  return longest(passing, () => true)
}

/** The limit that stands in the way longest, and how long: waiting less than that would not admit. */
function longest(
  { use, limits, others, request, nowMs }: Passing,
  isConsidered: (wait: [Reason, number]) => boolean,
): Obstacle | null {
  const now = { nowMs, monthEndsAtMs: monthNamed(use.window).resetsAtMs }
  const all = [{ scope: 'account' as const, meter: use, limits }, ...others]
  const obstacles = all.flatMap(({ scope, meter, limits: own }) =>
    waitsMs(meter, own, request.usualTokens, now)
      .filter(isConsidered)
      .map(([reason, retryAfterMs]): Obstacle => ({ reason, scope, retryAfterMs })),
  )
  const found = obstacles.reduce((one, next) => (next.retryAfterMs > one.retryAfterMs ? next : one))
  return found.retryAfterMs > 0 ? found : null
}

function take(passing: Passing, held: OverRecord | undefined): Admission {
  const { request, use, limits, others, project, nowMs } = passing
  const { usualTokens } = request
  const inBuckets = others.flatMap(({ name, limits: own }) => (own.tokensPerMinute === null ? [] : [name]))
  const heldTokens = held?.tokens ?? 0
  const record: RunningRecord = {
    state: 'running',
    window: use.window,
    amount: request.worstCharge,
    // Admitted, over and admitted again: the buckets hold both.
    tokens: usualTokens + heldTokens,
    lapsesAtMs: nowMs + request.leaseMs,
    keyId: project?.limits.keyId ?? null,
    inBuckets,
  }
  const own = requestTaken(use, limits, usualTokens, nowMs)
  const passed = others.map((one) => {
    const tokens = held?.inBuckets.includes(one.name) ? usualTokens : usualTokens + heldTokens
    return { ...one, meter: requestTaken(one.meter, one.limits, tokens, nowMs) }
  })
  const after = withRecord(withPassed(givenBack(own, held, inBuckets, nowMs), passed), record)
  const counted = passed.map((one) => ({ ...one, meter: after.meters.get(one.name)! }))
  return { decision: allow({ ...passing, use: after, others: counted }, use.window), use: after, record }
}

/** The buckets that held the request by its former key or model hold it no more. */
function givenBack(use: Use, held: OverRecord | undefined, inBuckets: readonly string[], nowMs: number): Use {
  const left = held?.inBuckets.filter((name) => !inBuckets.includes(name)) ?? []
  return left.reduce((after, name) => {
    const meter = after.meters.get(name)
    return meter ? withMeter(after, name, tokensCorrected(meter, held?.tokens ?? 0, 0, nowMs)) : after
  }, use)
}

/** `window` is the one that the request is charged to. */
function allow(passing: Passing, window: string): AdmitDecision {
  const { use, limits, others } = passing
  const tight = isTight(use, limits) || others.some(({ meter, limits: own }) => isTight(meter, own))
  return { kind: 'allow', quotaStatus: quotaStatus(passing, window), isTight: tight }
}

function deny(passing: Passing, { reason, scope, retryAfterMs }: Obstacle): AdmitDecision {
  const refusal = { kind: 'deny', reason, retryAfterMs, quotaStatus: quotaStatus(passing, passing.use.window) } as const
  return scope === 'account' ? refusal : { ...refusal, scope }
}

function quotaStatus({ use, plan, project, request, nowMs }: Passing, window: string): QuotaStatus {
  const { limits } = request
  const bucket = refilled(use.bucket, limits.tokensPerMinute, nowMs)
  return {
    plan: plan.plan,
    planVersion: plan.version,
    window,
    windowResetAtMs: monthNamed(window).resetsAtMs,
    used: usedOf(use),
    limit: limitOf(limits.allowance, plan, project),
    overage: plan.overage,
    requests: {
      limit: limits.requestsPerMinute,
      remaining: Math.max(0, limits.requestsPerMinute - use.log.length),
      resetMs: waitForEmpty(use.log, nowMs),
    },
    tokens: { limit: limits.tokensPerMinute, remaining: tokensLeft(bucket), resetMs: waitForFull(bucket) },
    day:
      limits.requestsPerDay === null
        ? null
        : { limit: limits.requestsPerDay, remaining: Math.max(0, limits.requestsPerDay - use.day.count) },
    nowMs,
  }
}
