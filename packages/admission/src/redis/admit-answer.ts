/**
 * What `lua/admit.lua` is asked and answers, as values of the port.
 */

import { argumentsOf, type Argument } from '@gateway/redis/script'
import type { AdmitAnswer, AdmitAsk, DenyReason, PlanLimits, RequestEnd, Standing } from '../port.ts'
import { scripts } from './scripts.ts'

export function admitArguments(ask: AdmitAsk): Argument[] {
  const { requestId, keyHash, planHint, planIncludesModel, limits, usualTokens, worstCharge, leaseMs, ends = [] } = ask
  const once = {
    request: requestId,
    keyHash,
    planHint: planHint ?? '',
    planIncludesModel: planIncludesModel ? 1 : 0,
    requestsPerMinute: limits.requestsPerMinute,
    tokensPerMinute: limits.tokensPerMinute,
    requestsPerDay: limits.requestsPerDay ?? -1,
    allowance: limits.allowance,
    usualTokens,
    worstCharge,
    leaseMs,
  }
  return argumentsOf(scripts.admit, once, ends.map(endOf))
}

export function endOf({ requestId, charge, tokens }: RequestEnd): Record<'request' | 'charge' | 'tokens', Argument> {
  return { request: requestId, charge, tokens }
}

type Reply = [kind: AdmitAnswer['kind'], ...rest: unknown[]]
type StandingReply = [
  plan: string,
  window: string,
  windowResetAtMs: number,
  used: number,
  limit: number,
  overage: number,
  requestsRemaining: number,
  requestsResetMs: number,
  tokensRemaining: number,
  tokensResetMs: number,
  dayRemaining: number,
  nowMs: number,
  planVersion: string,
]

export function readAdmitAnswer([kind, ...rest]: Reply, limits: PlanLimits): AdmitAnswer {
  if (kind === 'miss' || kind === 'cold') return { kind }
  if (kind === 'plan') return { kind, plan: rest[0] as string }
  if (rest.length === 0) return { kind: 'deny', reason: 'key' }
  const [first, second, ...figures] = rest as [string, number, ...StandingReply]
  const standing = readStanding(figures, limits)
  if (kind === 'allow') return { kind, standing, isTight: second === 1 }
  return { kind, reason: first as Exclude<DenyReason, 'key'>, retryAfterMs: second, standing }
}

function readStanding(figures: StandingReply, limits: PlanLimits): Standing {
  const [plan, window, windowResetAtMs, used, limit, overage, requestsLeft, requestsResetMs, ...rest] = figures
  const [tokensLeft, tokensResetMs, dayLeft, nowMs, planVersion] = rest
  return {
    plan,
    planVersion: Number(planVersion),
    window,
    windowResetAtMs,
    used,
    limit,
    overage: overage === 1,
    requests: { limit: limits.requestsPerMinute, remaining: requestsLeft, resetMs: requestsResetMs },
    tokens: { limit: limits.tokensPerMinute, remaining: tokensLeft, resetMs: tokensResetMs },
    day: limits.requestsPerDay === null ? null : { limit: limits.requestsPerDay, remaining: dayLeft },
    nowMs,
  }
}
