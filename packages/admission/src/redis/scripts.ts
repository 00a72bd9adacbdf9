/**
 * The Lua scripts, and the conversion of the port's values to their arguments and of their replies to the port's values. Each script is the
 * shared prelude followed by one file, so that a script is one EVALSHA and its logic is written once.
 */

import { type Argument, argumentsOf, composeScript } from '@gateway/redis/script'
import type {
  AdmitDecision,
  AdmitRequest,
  DenyReason,
  HeldAccount,
  PlanLimits,
  RequestEnd,
  QuotaStatus,
} from '../port.ts'

export const LUA = new URL('../lua/', import.meta.url)

const END = ['request', 'charge', 'tokens'] as const
const ADMIT = [
  'request',
  'keyHash',
  'planHint',
  'planIncludesModel',
  'requestsPerMinute',
  'tokensPerMinute',
  /** -1: no cap. */
  'requestsPerDay',
  'allowance',
  'usualTokens',
  'worstCharge',
  'leaseMs',
  'takes',
] as const
/** `extraWindow`: the window of `extra`, '' for the present one. `moreLater`: top-ups of a later window are known. */
const FILL = ['version', 'plan', 'overage', 'extra', 'extraWindow', 'moreLater'] as const
/** `makesKnown`: the store requested the total. */
const SETTLE = ['totalWindow', 'settled', 'version', 'makesKnown'] as const

/** With the names of their arguments. Yes and no are 1 and 0. */
export const scripts = {
  admit: composeScript(LUA, ['prelude', 'ending', 'admit'], { once: ADMIT, each: END }),
  finish: composeScript(LUA, ['prelude', 'ending', 'finish'], { once: END }),
  renew: composeScript(LUA, ['prelude', 'renew'], { once: ['leaseMs'], each: ['request', 'worstCharge', 'window'] }),
  authenticate: composeScript(LUA, ['prelude', 'authenticate'], { once: ['keyHash'] }),
  fill: composeScript(LUA, ['prelude', 'account', 'fill'], { once: FILL, each: ['keyHash', 'version', 'active'] }),
  deactivate: composeScript(LUA, ['prelude', 'account', 'deactivate'], { once: ['keyHash', 'version'] }),
  settle: composeScript(LUA, ['prelude', 'ending', 'settle'], {
    once: SETTLE,
    each: ['request', 'tokens', 'mayChange'],
  }),
  inspect: composeScript(LUA, ['prelude', 'inspect']),
  recount: composeScript(LUA, ['prelude', 'ending', 'recount']),
}

export type ScriptName = keyof typeof scripts

/** The keys of an account, in the order in which the prelude names them. All lie in the slot of the tag. */
export function accountKeys(account: string): string[] {
  const tag = `adm:{${account}}:`
  return [`${tag}account`, `${tag}use`, `${tag}leases`, `${tag}log`]
}

export function admitArguments(request: AdmitRequest): Argument[] {
  const {
    requestId,
    keyHash,
    planHint,
    planIncludesModel,
    limits,
    usualTokens,
    worstCharge,
    leaseMs,
    ends = [],
    takes = 'all',
  } = request
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
    takes,
  }
  return argumentsOf(scripts.admit, once, ends.map(endOf))
}

export function endOf({ requestId, charge, tokens }: RequestEnd): Record<'request' | 'charge' | 'tokens', Argument> {
  return { request: requestId, charge, tokens }
}

type AdmitReply = [kind: AdmitDecision['kind'], ...rest: unknown[]]
type QuotaStatusReply = [
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

export function readAdmitDecision([kind, ...rest]: AdmitReply, limits: PlanLimits): AdmitDecision {
  if (kind === 'miss' || kind === 'cold') return { kind }
  if (kind === 'plan') return { kind, plan: rest[0] as string }
  if (rest.length === 0) return { kind: 'deny', reason: 'key' }
  const [first, second, ...figures] = rest as [string, number, ...QuotaStatusReply]
  const quotaStatus = readQuotaStatus(figures, limits)
  if (kind === 'allow') return { kind, quotaStatus, isTight: second === 1 }
  return { kind, reason: first as Exclude<DenyReason, 'key'>, retryAfterMs: second, quotaStatus }
}

function readQuotaStatus(figures: QuotaStatusReply, limits: PlanLimits): QuotaStatus {
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

type InspectReply = [
  window: string,
  plan: [] | [version: string, plan: string, overage: string, extra: string],
  keys: (string | number)[],
  total: [] | [settled: string, version: string],
  sums: [running: string | number, ended: string | number],
  requests: (string | number)[],
]

/** Reads the reply of `lua/inspect.lua`. */
export function readHeldAccount(reply: unknown): HeldAccount {
  const [window, plan, keys, total, [running, ended], requests] = reply as InspectReply
  return {
    window,
    facts:
      plan.length === 0
        ? null
        : { version: Number(plan[0]), plan: plan[1], overage: plan[2] === '1', extra: Number(plan[3]) },
    keys: inGroups(keys, 3).map(([keyHash, version, active]) => {
      return { keyHash: String(keyHash), version: Number(version), active: active === 1 }
    }),
    total: total.length === 0 ? null : { settled: Number(total[0]), version: Number(total[1]) },
    running: Number(running),
    ended: Number(ended),
    requests: inGroups(requests, 4).map(([requestId, state, amount, lapsed]) => {
      const isRunning = state === 'running'
      return {
        requestId: String(requestId),
        state: isRunning ? 'running' : 'ended',
        amount: Number(amount),
        lapsed: lapsed === 1,
      }
    }),
  }
}

function inGroups<Item>(items: Item[], size: number): Item[][] {
  return Array.from({ length: items.length / size }, (_, index) => items.slice(index * size, (index + 1) * size))
}
