/**
 * The decision: may this request run now, and what does the account's use become? Checks everything, then takes
 * everything; a refused request takes nothing. `lua/admit.lua` is the same decision inside Redis.
 */

import type { AdmitDecision, AdmitRequest, DenyReason, QuotaStatus } from '../port.ts'
import { keyState, type AccountState, type PlanFacts } from './account-state.ts'
import {
  isAllowanceTight,
  judgeAllowance,
  PENDING_RETRY_MS,
  type RequestRecord,
  type RunningRecord,
  type Sums,
  type Use,
  withRecord,
} from './use.ts'
import { DAY_MS, dayOf, monthNamed } from './month.ts'
import {
  isLessThanHalfFull,
  lastMinute,
  refilled,
  taken,
  type TokenBucket,
  tokensLeft,
  waitForEmpty,
  waitForFull,
  waitForRequest,
  waitForTokens,
} from './rates.ts'

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

export function admit({ state, use, held }: AccountNow, request: AdmitRequest, nowMs: number): Admission {
  const refuse = (decision: AdmitDecision): Admission => ({ decision, use, record: null })
  const key = keyState(state, request.keyHash, use.window)
  if (key.kind === 'dead') return refuse({ kind: 'deny', reason: 'key' })
  if (key.kind === 'unknown') return refuse({ kind: 'miss' })
  const { plan } = key
  if (plan.plan !== request.planHint) return refuse({ kind: 'plan', plan: plan.plan })
  const now = ratesNow(use, request, nowMs)
  if (request.takes === 'request') return countRequest(use, now, plan, request, nowMs)
  if (!use.known) return refuse({ kind: 'cold' })
  if (held && held.state !== 'over') return refuse(allow(now, plan, request, held.window, nowMs))
  const obstacle = findObstacle(now, plan, request, nowMs)
  if (obstacle)
    return refuse({ kind: 'deny', ...obstacle, quotaStatus: quotaStatus(now, plan, request, use.window, nowMs) })
  if (request.takes === 'nothing') return refuse(allow(now, plan, request, use.window, nowMs))

  const record: RunningRecord = {
    state: 'running',
    window: use.window,
    amount: request.worstCharge,
    // Admitted, over and admitted again: the bucket holds both.
    tokens: request.usualTokens + (held?.tokens ?? 0),
    lapsesAtMs: nowMs + request.leaseMs,
  }
  const after = {
    ...withRecord(now, record),
    log: [...now.log, nowMs],
    bucket: taken(now.bucket, request.usualTokens),
    day: request.limits.requestsPerDay === null ? use.day : { ...now.day, count: now.day.count + 1 },
  }
  return { decision: allow(after, plan, request, use.window, nowMs), use: after, record }
}

/** Counts a request that runs nowhere. */
function countRequest(use: Use, now: RatesNow, plan: PlanFacts, request: AdmitRequest, nowMs: number): Admission {
  const retryAfterMs = waitForRequest(now.log, request.limits.requestsPerMinute, nowMs)
  if (retryAfterMs > 0) {
    const quotaStatusNow = quotaStatus(now, plan, request, use.window, nowMs)
    return {
      decision: { kind: 'deny', reason: 'requests', retryAfterMs, quotaStatus: quotaStatusNow },
      use,
      record: null,
    }
  }
  const log = [...now.log, nowMs]
  return { decision: allow({ ...now, log }, plan, request, use.window, nowMs), use: { ...use, log }, record: null }
}

type RatesNow = Use & { bucket: TokenBucket }

function ratesNow(use: Use, request: AdmitRequest, nowMs: number): RatesNow {
  const today = dayOf(nowMs)
  return {
    ...use,
    log: lastMinute(use.log, nowMs),
    bucket: refilled(use.bucket, request.limits.tokensPerMinute, nowMs),
    day: use.day.day === today ? use.day : { day: today, count: 0 },
  }
}

type Limit = Exclude<DenyReason, 'key' | 'plan'>
type Obstacle = { reason: Exclude<DenyReason, 'key'>; retryAfterMs: number }

/** The limit that stands in the way longest, and how long: waiting less than that would not admit. */
function findObstacle(now: RatesNow, plan: PlanFacts, request: AdmitRequest, nowMs: number): Obstacle | null {
  if (!request.planIncludesModel) return { reason: 'plan', retryAfterMs: 0 }
  const { requestsPerMinute, requestsPerDay, allowance } = request.limits
  const dayIsFull = requestsPerDay !== null && now.day.count >= requestsPerDay
  const waitsMs: Record<Limit, number> = {
    requests: waitForRequest(now.log, requestsPerMinute, nowMs),
    tokens: waitForTokens(now.bucket, request.usualTokens),
    day: dayIsFull ? (now.day.day + 1) * DAY_MS - nowMs : 0,
    ...allowanceWaitsMs(now, plan, allowance, nowMs),
  }
  const waits = Object.entries(waitsMs) as [Limit, number][]
  const [reason, retryAfterMs] = waits.reduce((longest, next) => (next[1] > longest[1] ? next : longest))
  return retryAfterMs > 0 ? { reason, retryAfterMs } : null
}

function allowanceWaitsMs(now: Use, plan: PlanFacts, allowance: number, nowMs: number) {
  const verdict = judgeAllowance(sumsOf(now, plan, allowance))
  return {
    allowance: verdict === 'allowance' ? monthNamed(now.window).resetsAtMs - nowMs : 0,
    pending: verdict === 'pending' ? PENDING_RETRY_MS : 0,
  }
}

function sumsOf({ settled, ended, running }: Use, { extra, overage }: PlanFacts, allowance: number): Sums {
  return { used: settled + ended, running, limit: allowance + extra, overage }
}

function allow(now: RatesNow, plan: PlanFacts, request: AdmitRequest, window: string, nowMs: number): AdmitDecision {
  const isTight = isLessThanHalfFull(now.bucket) || isAllowanceTight(sumsOf(now, plan, request.limits.allowance))
  return { kind: 'allow', quotaStatus: quotaStatus(now, plan, request, window, nowMs), isTight }
}

/** `window` is the one that the request is charged to. */
function quotaStatus(
  now: RatesNow,
  plan: PlanFacts,
  { limits }: AdmitRequest,
  window: string,
  nowMs: number,
): QuotaStatus {
  return {
    plan: plan.plan,
    planVersion: plan.version,
    window,
    windowResetAtMs: monthNamed(window).resetsAtMs,
    used: now.settled + now.ended,
    limit: limits.allowance + plan.extra,
    overage: plan.overage,
    requests: {
      limit: limits.requestsPerMinute,
      remaining: Math.max(0, limits.requestsPerMinute - now.log.length),
      resetMs: waitForEmpty(now.log, nowMs),
    },
    tokens: { limit: limits.tokensPerMinute, remaining: tokensLeft(now.bucket), resetMs: waitForFull(now.bucket) },
    day:
      limits.requestsPerDay === null
        ? null
        : { limit: limits.requestsPerDay, remaining: Math.max(0, limits.requestsPerDay - now.day.count) },
    nowMs,
  }
}
