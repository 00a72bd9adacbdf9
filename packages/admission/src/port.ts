/**
 * Admission decides whether a request may run now, and returns the account's quota status. Each service has its own interface.
 *
 * State belongs to an account and lives under its tag. Two adapters keep the same promises (one conformance suite and
 * one model-based test run on both): `redis.ts` (one Lua call, Redis' own clock) and `memory.ts`.
 * Amounts are whole numbers in the plan's smallest unit: allowance milli-tokens or nano-dollars.
 */

import type { HeldAccount } from './held-account.ts'

/** The limits of a plan, from the edge's config. The two per minute are at least 1. */
export interface PlanLimits {
  requestsPerMinute: number
  tokensPerMinute: number
  /** Requests per UTC day; null: no cap. */
  requestsPerDay: number | null
  /** Per calendar month (UTC), in the smallest unit. Top-ups are added by the account's own state. */
  allowance: number
}

/** The limits of one key beside those of its account; null: no such limit. The two per minute are at least 1. */
export interface KeyLimits {
  /** The name of the key's meter. A key that replaces another has the same one, so counts carry over. */
  keyId: string
  /** By the store's clock. */
  expiresAtMs: number | null
  /** Per calendar month (UTC), in the smallest unit of the account's plan. */
  monthly: number | null
  requestsPerMinute: number | null
  tokensPerMinute: number | null
  /** Text that the store returns to edges, and does not read. */
  policy: string
}

/** The limits of one model for all keys of an account; null: no such limit. The two per minute are at least 1. */
export interface ModelLimits {
  /** The served model's id. */
  model: string
  requestsPerMinute: number | null
  tokensPerMinute: number | null
  requestsPerDay: number | null
}

/** The facts of a project's account beside its plan. */
export interface ProjectFacts {
  /** Per calendar month, in the plan's smallest unit. It holds with overage, too. Null: the plan's allowance alone. */
  hardLimit: number | null
  modelLimits: readonly ModelLimits[]
  /** Text that the store returns to edges, and does not read. It changes with `policyVersion` alone. */
  policy: string
  policyVersion: number
}

/** The limit that refused: the account's own, its key's, or the one for the model. */
export type LimitScope = 'account' | 'key' | 'model'

/** The policies of a project's key. An edge passes `hint` with its next request. */
export interface PolicyFacts {
  hint: string
  project: string
  key: string
}

export interface AdmitRequest {
  /** A repeated call with the same id, while it is held, returns ALLOW again and takes nothing more. */
  requestId: string
  account: string
  /** SHA-256 of the whole key, base64url. */
  keyHash: string
  /** The plan that the edge believes the account has; null when it does not know. */
  planHint: string | null
  /** The `hint` of the policies that the edge decided by; left out: it knows of none. */
  policyHint?: string | undefined
  /** The served model, for limits by model; left out where none is chosen. */
  model?: string | undefined
  /** The hinted plan and policies include the model. */
  planIncludesModel: boolean
  limits: PlanLimits
  /** Tokens to reserve in the tokens-per-minute bucket: prompt + the lane's usual response. */
  usualTokens: number
  /** The most that this request can cost. */
  worstCharge: number
  /** The running request is given up when not renewed for this long. */
  leaseMs: number
  /** Requests of the account that have ended: finished before any decision. */
  ends?: readonly RequestEnd[] | undefined
  /** `all` where it is left out. */
  takes?: Takes | undefined
}

/**
 * The extent of an admission. `nothing`: a check before the body is read. It is refused only where every request of at least
 * `usualTokens` would be. `request`: a place among the minute's requests, for a request that is wrong; only that limit, and
 * the key, can refuse it.
 */
export type Takes = 'all' | 'nothing' | 'request'

export interface RequestEnd {
  requestId: string
  charge: number
  tokens: number
}

export interface RunningLease {
  account: string
  requestId: string
  worstCharge?: number
  window?: string
  /** The `keyId` of a project's key, for a request that is held again. */
  keyId?: string | undefined
}

export interface QuotaStatus {
  plan: string
  /** The version of the account's facts that the plan is known from. */
  planVersion: number
  /** Calendar month in UTC by the store's clock: `2026-11`. */
  window: string
  windowResetAtMs: number
  /** Settled in the ledger, plus ended requests that are not yet in it. */
  used: number
  /** The plan's allowance plus top-ups, or a project's lower hard limit. With overage, the hard limit alone. */
  limit: number
  overage: boolean
  requests: { limit: number; remaining: number; resetMs: number }
  tokens: { limit: number; remaining: number; resetMs: number }
  day: { limit: number; remaining: number } | null
  /** The store's clock. */
  nowMs: number
}

export const denyReasons = ['key', 'plan', 'requests', 'tokens', 'day', 'allowance', 'pending'] as const
export type DenyReason = (typeof denyReasons)[number]

/**
 * `isTight`: the account is so near its allowance, or its bucket so low, that a late release may refuse its next request. `plan`:
 * the hint was wrong; choose again with this one, once. `miss`: the store does not know the key or account; have keys fill it.
 * `cold`: the store does not know the window's total; have metering warm it.
 */
export type AdmitDecision =
  | { kind: 'allow'; quotaStatus: QuotaStatus; isTight: boolean }
  | { kind: 'deny'; reason: 'key' }
  | {
      kind: 'deny'
      reason: Exclude<DenyReason, 'key'>
      /** The account's where it is left out. */
      scope?: LimitScope
      retryAfterMs: number
      quotaStatus: QuotaStatus
    }
  | { kind: 'plan'; plan: string; policy?: PolicyFacts | undefined }
  | { kind: 'miss' }
  /** `keyId`: the total of this key is not known, either. `warm` brings it in `keys`, also where it is 0. */
  | { kind: 'cold'; keyId?: string | undefined }

export type KeyState =
  /** `used`: as in {@link Standing}; null while the window's total is not known. */
  | {
      kind: 'active'
      plan: string
      overage: boolean
      extra: number
      used: number | null
      /** Of a project's key. */
      project?: { hardLimit: number | null; policy: PolicyFacts } | undefined
    }
  | { kind: 'deny' }
  | { kind: 'miss' }

/**
 * The admission store did not reply in time, is away, or was replaced during the call. The call may have taken effect; a caller
 * may repeat each with the same arguments.
 */
export class AdmissionUnavailableError extends Error {
  override name = 'AdmissionUnavailableError'
}

/** Every call rejects with {@link AdmissionUnavailableError} when the store does not reply in time; none hangs. */
export interface EdgeAdmission {
  admit(request: AdmitRequest): Promise<AdmitDecision>
  /**
   * The request ended: its reservation becomes its actual charge, which stays pending until the ledger has it, and its
   * tokens correct the bucket. Where its lease had lapsed, its tokens still do, and the ledger reports its charge.
   * Nothing happens when the ledger had it first. A caller that does not know a request's tokens does not call this: the bucket
   * keeps the reservation until the ledger reports the tokens.
   */
  finish(end: RequestEnd & { account: string }): Promise<void>
  /**
   * Keeps running requests' reservations. Returns the ids that are no longer held. One that comes with its `worstCharge`
   * (and the window of its admission) is held again instead: the store may have been restarted or emptied meanwhile.
   */
  renew(leases: RunningLease[], leaseMs: number): Promise<string[]>
  /** The part of the store that holds the account, by a name to compare. The accounts of a part are unavailable together. */
  partOf(account: string): string
  /** Key state alone, for routes that admit nothing (quota). */
  authenticate(key: { account: string; keyHash: string }): Promise<KeyState>
}

export interface StoreClock {
  /**
   * The store's clock gives the month. `epoch`: the incarnation of the part of the store that holds the account; it changes
   * whenever the store may have forgotten something. Call it before you read the data for `fill` or `warm`.
   */
  currentWindow(account?: string): Promise<{ window: string; resetAtMs: number; epoch?: string }>
}

export interface StoreAudit {
  /** Changes nothing. */
  inspect(account: string): Promise<HeldAccount>
  /** Counts the pending sums again from the records, and releases running requests whose lease is over or gone. */
  recount(account: string): Promise<void>
}

export interface KeysAdmission extends StoreClock, Pick<StoreAudit, 'inspect'> {
  /**
   * Writes an account's state that keys owns: plan, overage, top-ups and the given keys. Facts older than those held
   * (by `version`) are ignored, so that a late fill never resurrects a dead key. With `epoch`, it rejects when the store has
   * another epoch since that read: a tombstone from in between may have been lost.
   */
  fill(account: {
    account: string
    version: number
    plan: string
    overage: boolean
    /** Top-ups of the current window, in the smallest unit. */
    extra: number
    /** The window that `extra` belongs to; the store's current one when left out. A later one begins without top-ups. */
    window?: string
    /** Top-ups of a later window are known: when it begins, admission returns `miss`. */
    moreLater?: boolean
    epoch?: string
    /** Only a project's account has it. */
    project?: ProjectFacts | undefined
    keys: { keyHash: string; version: number; active: boolean; limits?: KeyLimits | undefined }[]
  }): Promise<void>
  /**
   * Every key of the account is refused from the moment this resolves. A later fill with this version or an older one
   * brings none to life.
   */
  closeAccount(of: { account: string; version: number }): Promise<void>
  /** The key is refused from the moment this resolves, also after a later fill with an older version. */
  deactivate(key: { account: string; keyHash: string; version: number }): Promise<void>
}

/** A key's part of its account's total, in the same unit. */
export interface KeyTotal {
  keyId: string
  settled: number
}

/** A request that the ledger's total includes. */
export interface IncludedRequest {
  requestId: string
  /** The ledger's record of it; left out where that is not known, then the bucket stays as it is. */
  tokens?: number
  /** A report that ranks higher may still replace this one. */
  mayChange?: boolean
}

export interface MeteringAdmission extends StoreClock, StoreAudit {
  /**
   * Writes the window's total after a commit, and the requests that it now includes. None of them is pending any more, and the
   * bucket of tokens per minute holds their tokens. Older versions change no total.
   */
  applyTotal(total: {
    account: string
    window: string
    settled: number
    version: number
    included: readonly IncludedRequest[]
    /** Of a project: totals of the requests' keys as of the same version. */
    keys?: readonly KeyTotal[] | undefined
  }): Promise<void>
  /**
   * The same after COLD: marks the window as known. `account` without rows: settled 0, version 0. With the `epoch` of
   * `currentWindow`, rejects when the store has another epoch since: a later total may have been lost.
   */
  warm(total: {
    account: string
    window: string
    settled: number
    version: number
    epoch?: string
    keys?: readonly KeyTotal[] | undefined
  }): Promise<void>
}

/** The interfaces of the services that own the state. */
export interface OwnersAdmission extends KeysAdmission, MeteringAdmission {}

/** All interfaces, for standalone and tests. */
export interface Admission extends EdgeAdmission, OwnersAdmission, AsyncDisposable {}
