/**
 * One account on an adapter, known to it and with a clock that the test moves.
 */

import { randomUUID } from 'node:crypto'
import type { Admission, AdmitDecision, AdmitRequest, IncludedRequest, PlanLimits } from '../port.ts'
import type { OpenAdmission } from './adapters.ts'
import { limitsWith } from './limits.ts'

/** 2026-11-30 12:00 UTC: the last day of a month. */
export const START_MS = Date.UTC(2026, 10, 30, 12)
export const SECOND_MS = 1000
export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const KEY = 'a-key-hash'

export type RequestOptions = Partial<Omit<AdmitRequest, 'limits'>>

export interface Stage extends AsyncDisposable {
  admission: Admission
  account: string
  clock: { nowMs: number; advance(ms: number): void }
  /** The number of leases that were reported as lapsed. */
  readonly lapsed: number
  /** Requests admission once more. */
  admit(options?: RequestOptions): Promise<AdmitDecision>
  /** The same as many times at once. */
  admitAtOnce(count: number, options?: RequestOptions): Promise<AdmitDecision[]>
  finish(requestId: string, charge: number, tokens?: number): Promise<void>
  /** The account's use, as `authenticate` returns it; null while unknown. */
  used(): Promise<number | null>
  fill(facts?: Partial<Parameters<Admission['fill']>[0]>): Promise<void>
  warm(settled?: number, version?: number): Promise<void>
  settle(settled: number, version: number, included: (string | IncludedRequest)[]): Promise<void>
}

/** An account of the plan `free` with these limits, filled and warm. */
export async function knownAccount(open: OpenAdmission, limits: Partial<PlanLimits> = {}): Promise<Stage> {
  const stage = await newAccount(open, limits)
  await stage.fill()
  await stage.warm()
  return stage
}

/** An account that the store has never heard of. */
export async function newAccount(open: OpenAdmission, limits: Partial<PlanLimits> = {}): Promise<Stage> {
  const clock = {
    nowMs: START_MS,
    advance: (ms: number) => {
      clock.nowMs += ms
    },
  }
  let lapsed = 0
  const admission = await open({ now: () => clock.nowMs, onLapsed: (count) => (lapsed += count) })
  const account = randomUUID().slice(0, 8)
  const admit = (options: RequestOptions = {}) =>
    admission.admit({
      requestId: randomUUID(),
      account,
      keyHash: KEY,
      planHint: 'free',
      planIncludesModel: true,
      limits: limitsWith(limits),
      usualTokens: 100,
      worstCharge: 100,
      leaseMs: 30 * SECOND_MS,
      ...options,
    })
  const window = () => admission.currentWindow().then((current) => current.window)

  return {
    admission,
    account,
    clock,
    get lapsed() {
      return lapsed
    },
    admit,
    admitAtOnce: (count, options) => Promise.all(Array.from({ length: count }, () => admit(options))),
    finish: (requestId, charge, tokens = 100) => admission.finish({ account, requestId, charge, tokens }),
    used: async () => {
      const state = await admission.authenticate({ account, keyHash: KEY })
      return state.kind === 'active' ? state.used : null
    },
    fill: (facts) => {
      const keys = [{ keyHash: KEY, version: 1, active: true }]
      return admission.fill({ account, version: 1, plan: 'free', overage: false, extra: 0, keys, ...facts })
    },
    warm: async (settled = 0, version = 0) => admission.warm({ account, window: await window(), settled, version }),
    settle: async (settled, version, included) =>
      admission.applyTotal({
        ...{ account, window: await window(), settled, version },
        included: included.map((one) => (typeof one === 'string' ? { requestId: one } : one)),
      }),
    [Symbol.asyncDispose]: () => admission[Symbol.asyncDispose](),
  }
}

/** `allow`, or the reason of the refusal. */
export function verdict(decision: AdmitDecision): string {
  return decision.kind === 'deny' ? decision.reason : decision.kind
}

export function waitOf(decision: AdmitDecision): number {
  if (decision.kind !== 'deny' || decision.reason === 'key') throw new Error(`no wait in ${JSON.stringify(decision)}`)
  return decision.retryAfterMs
}

export function quotaStatusOf(decision: AdmitDecision) {
  if (!('quotaStatus' in decision)) throw new Error(`no standing in ${JSON.stringify(decision)}`)
  return decision.quotaStatus
}

export function countAllowed(decisions: AdmitDecision[]): number {
  return decisions.filter((decision) => decision.kind === 'allow').length
}
