/**
 * The Lua scripts, and the conversion of the port's values to their arguments and of their replies to the port's values. Each script is
 * one file with those that it includes, so that a call is one EVALSHA and its logic is written once.
 */

import { type Argument, argumentsOf, composeScript } from '@gateway/redis/script'
import { limitsModel } from '../core/limits.ts'
import { monthNamed } from '../core/month.ts'
import type { HeldAccount } from '../held-account.ts'
import type {
  AdmitDecision,
  AdmitRequest,
  DenyReason,
  KeyLimits,
  KeyState,
  KeyTotal,
  LimitScope,
  ProjectFacts,
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
  /** '' where the edge knows of none. */
  'policyHint',
  'model',
] as const
/** `extraWindow`: the window of `extra`, '' for the present one. `moreLater`: top-ups of a later window are known. */
const FILL = ['version', 'plan', 'overage', 'extra', 'extraWindow', 'moreLater', 'projectFacts'] as const
/** `makesKnown`: the store requested the total. */
const SETTLE = ['totalWindow', 'settled', 'version', 'makesKnown', 'keyTotals'] as const

/** With the names of their arguments. Yes and no are 1 and 0. */
export const scripts = {
  admit: composeScript(LUA, ['admit'], { once: ADMIT, each: END }),
  finish: composeScript(LUA, ['finish'], { once: END }),
  renew: composeScript(LUA, ['renew'], {
    once: ['leaseMs'],
    each: ['request', 'worstCharge', 'window', 'keyId'],
  }),
  authenticate: composeScript(LUA, ['authenticate'], { once: ['keyHash'] }),
  fill: composeScript(LUA, ['fill'], {
    once: FILL,
    each: ['keyHash', 'version', 'active', 'limits'],
  }),
  deactivate: composeScript(LUA, ['deactivate'], { once: ['keyHash', 'version'] }),
  'close-account': composeScript(LUA, ['close-account'], { once: ['version'] }),
  settle: composeScript(LUA, ['settle'], {
    once: SETTLE,
    each: ['request', 'tokens', 'mayChange'],
  }),
  inspect: composeScript(LUA, ['inspect']),
  recount: composeScript(LUA, ['recount']),
}

export type ScriptName = keyof typeof scripts

/** The keys of an account, in the order in which `lua/clock.lua` names them. All lie in the slot of the tag. */
export function accountKeys(account: string): string[] {
  const tag = `adm:{${account}}:`
  return [`${tag}account`, `${tag}use`, `${tag}leases`, `${tag}log`]
}

/** With the logs of the project's key and of the model, where the request has a policy's hint. */
export function admitKeys({ account, policyHint = '', model = '' }: AdmitRequest): string[] {
  const keys = accountKeys(account)
  if (policyHint === '') return keys
  const [, , keyId = ''] = policyHint.split('.')
  const log = keys.at(-1)!
  return [...keys, `${log}:key:${keyId}`, `${log}:model:${model}`]
}

/** -1: no such limit. */
const orNone = (limit: number | null): number => limit ?? -1

export function projectArgument(project: ProjectFacts | undefined): string {
  if (!project) return ''
  const models = project.modelLimits.filter(limitsModel)
  const ofModels = models.map((limits) => {
    const { model, requestsPerMinute, tokensPerMinute, requestsPerDay } = limits
    return [model, orNone(requestsPerMinute), orNone(tokensPerMinute), orNone(requestsPerDay)]
  })
  return JSON.stringify([orNone(project.hardLimit), project.policyVersion, project.policy, ofModels])
}

export function limitsArgument(limits: KeyLimits | undefined): string {
  if (!limits) return ''
  const { keyId, expiresAtMs, monthly, requestsPerMinute, tokensPerMinute, policy } = limits
  const figures = [expiresAtMs, monthly, requestsPerMinute, tokensPerMinute].map(orNone)
  return JSON.stringify([keyId, ...figures, policy])
}

export function keyTotalsArgument(keys: readonly KeyTotal[] | undefined): string {
  return keys ? JSON.stringify(keys.map(({ keyId, settled }) => [keyId, settled])) : ''
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
    policyHint = '',
    model = '',
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
    policyHint,
    model,
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
  used: number,
  limit: number,
  overage: number,
  logged: number,
  requestsResetMs: number,
  level: number,
  requestsToday: number,
  nowMs: number,
  planVersion: string,
]

export function readAdmitDecision([kind, ...rest]: AdmitReply, limits: PlanLimits): AdmitDecision {
  if (kind === 'miss') return { kind }
  if (kind === 'cold') return rest.length === 0 ? { kind } : { kind, keyId: rest[0] as string }
  if (kind === 'plan') return readPlan(rest as string[])
  if (rest.length === 0) return { kind: 'deny', reason: 'key' }
  const [first, second, ...figures] = rest as [string, number, ...QuotaStatusReply]
  const quotaStatus = readQuotaStatus(figures, limits)
  if (kind === 'allow') return { kind, quotaStatus, isTight: second === 1 }
  const [reason, scope] = first.split(' ').toReversed() as [Exclude<DenyReason, 'key'>, LimitScope?]
  const refusal = { kind, reason, retryAfterMs: second, quotaStatus }
  return scope ? { ...refusal, scope } : refusal
}

function readPlan([plan, hint, project, key]: string[]): AdmitDecision {
  if (hint === undefined) return { kind: 'plan', plan: plan! }
  return { kind: 'plan', plan: plan!, policy: { hint, project: project!, key: key! } }
}

/** The bucket's level is in tokens times this: `lua/clock.lua`. */
const BUCKET_SCALE = 60_000

function readQuotaStatus(figures: QuotaStatusReply, limits: PlanLimits): QuotaStatus {
  const [plan, window, used, limit, overage, logged, requestsResetMs, level, requestsToday, nowMs, planVersion] =
    figures
  const { requestsPerMinute, tokensPerMinute, requestsPerDay } = limits
  return {
    plan,
    planVersion: Number(planVersion),
    window,
    windowResetAtMs: monthNamed(window).resetsAtMs,
    used,
    limit,
    overage: overage === 1,
    requests: {
      limit: requestsPerMinute,
      remaining: Math.max(0, requestsPerMinute - logged),
      resetMs: requestsResetMs,
    },
    tokens: {
      limit: tokensPerMinute,
      remaining: Math.max(0, Math.floor(level / BUCKET_SCALE)),
      resetMs: Math.ceil((tokensPerMinute * BUCKET_SCALE - level) / tokensPerMinute),
    },
    day:
      requestsPerDay === null
        ? null
        : { limit: requestsPerDay, remaining: Math.max(0, requestsPerDay - requestsToday) },
    nowMs,
  }
}

type InspectReply = [
  window: string,
  plan: [] | [version: string, plan: string, overage: string, extra: string],
  keys: (string | number)[],
  total: [] | [settled: string, version: string],
  sums: [running: string | number, ended: string | number],
  keyTotals: string[],
  requests: (string | number)[],
]

/** Reads the reply of `lua/inspect.lua`. */
export function readHeldAccount(reply: unknown): HeldAccount {
  const [window, plan, keys, total, [running, ended], keyTotals, requests] = reply as InspectReply
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
    keyTotals: inGroups(keyTotals, 5).map(([keyId, ...figures]) => {
      const [settled, version, sumOfRunning, sumOfEnded] = figures.map(Number) as [number, number, number, number]
      return { keyId: keyId!, settled, version, running: sumOfRunning, ended: sumOfEnded }
    }),
    requests: inGroups(requests, 5).map(([requestId, state, amount, lapsed, keyId]) => {
      const isRunning = state === 'running'
      return {
        requestId: String(requestId),
        state: isRunning ? 'running' : 'ended',
        amount: Number(amount),
        lapsed: lapsed === 1,
        keyId: keyId === '' ? null : String(keyId),
      }
    }),
  }
}

function inGroups<Item>(items: Item[], size: number): Item[][] {
  return Array.from({ length: items.length / size }, (_, index) => items.slice(index * size, (index + 1) * size))
}

type ProjectReply = [hardLimit: number, hint: string, project: string, key: string]
export type KeyStateReply =
  | ['deny' | 'miss']
  | ['active', plan: string, overage: number, extra: number, used: number, ...project: [] | ProjectReply]

export function readKeyState(reply: KeyStateReply): KeyState {
  if (reply[0] !== 'active') return { kind: reply[0] }
  const [kind, plan, overage, extra, used, ...ofProject] = reply
  const state = { kind, plan, overage: overage === 1, extra, used: used < 0 ? null : used }
  if (ofProject.length === 0) return state
  const [hardLimit, hint, project, key] = ofProject
  return { ...state, project: { hardLimit: hardLimit < 0 ? null : hardLimit, policy: { hint, project, key } } }
}
