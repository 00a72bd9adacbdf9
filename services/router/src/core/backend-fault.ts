/**
 * The faults of a backend and their consequences: the one table behind failover, ejection and repeats.
 *
 * A fault is the request's own if any other target of this kind would refuse it, too. Any other fault is the backend's,
 * and the router tries the next target. `handlers/fail-over.ts` handles responses that the client has partly received.
 */

import {
  accountTroubleIn,
  isRequestFaultAnyway,
  missesClientsOwn,
  refusesByTemplate,
  type AccountTrouble,
} from './account-trouble.ts'
import type { TargetError } from '@gateway/contracts/target-error'
import { COMMON_MEANINGS, type ErrorMeanings } from './error-meanings.ts'
import { redactBody } from './redact.ts'

export type FaultKind =
  /** This router has no free file, port or memory for a connection. */
  | 'shortage'
  | 'connect'
  | 'connect_timeout'
  | 'dns'
  | 'tls'
  | 'reset'
  | 'first_byte_timeout'
  | 'idle_timeout'
  | 'out_of_time'
  | 'status'
  | 'invalid_answer'
  /** The response to a compaction holds no summary. The client's own words may be the reason. */
  | 'no_summary'
  | 'truncated'
  | 'error_event'

export interface FaultDetails {
  /** The backend's HTTP status, or the one that its error event names. */
  status?: number
  /** The backend's own error body, only when it is JSON. */
  body?: string
  retryAfterMs?: number
  /** Our own account is the trouble, though the status points to the request. */
  account?: AccountTrouble
  /** The router refused the request in the target's place. */
  isUnsent?: boolean
  /** The same as the target wrote it, for clients of its own API. */
  own?: TargetError
  /** The meaning of the target's words. */
  meanings?: ErrorMeanings
  cause?: unknown
}

export class BackendFault extends Error {
  readonly kind: FaultKind
  readonly status: number | undefined
  readonly body: string | undefined
  readonly retryAfterMs: number | undefined
  readonly account: AccountTrouble | undefined
  readonly isUnsent: boolean
  readonly own: TargetError | undefined
  readonly meanings: ErrorMeanings

  constructor(kind: FaultKind, message: string, details: FaultDetails = {}) {
    super(message, { cause: details.cause })
    this.name = 'BackendFault'
    this.kind = kind
    this.status = details.status
    this.body = details.body
    this.retryAfterMs = details.retryAfterMs
    this.account = details.account
    this.isUnsent = details.isUnsent ?? false
    this.own = details.own
    this.meanings = details.meanings ?? COMMON_MEANINGS
  }

  /** The stable word of this fault in attempt records and metrics. */
  get outcome(): string {
    return this.kind === 'status' ? `http_${this.status}` : this.kind
  }
}

/** The client's request, the secrets of the backend, and the meaning of its words. */
export interface Circumstances {
  clientRequest: Buffer
  secrets: readonly string[]
  meanings: ErrorMeanings
}

/** The same fault, fit to be judged, logged and reported: with our account's trouble named, and no secret in its body. */
export function classifyFault(fault: BackendFault, { clientRequest, secrets, meanings }: Circumstances): BackendFault {
  const { kind, message, status, body, retryAfterMs, own, cause } = fault
  if (body === undefined || fault.isUnsent) return fault
  const isRefusal = isRequestFaultAnyway(status, body, meanings)
  const account = isRefusal ? null : accountIn(status, body, clientRequest, meanings)
  const reported = redactBody(body, secrets, clientRequest)
  return new BackendFault(kind, message, {
    cause,
    meanings,
    ...(status === undefined ? {} : { status: isRefusal ? REFUSED : status }),
    ...(reported === null ? {} : { body: reported }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(account === null ? {} : { account }),
    ...(own === undefined ? {} : { own: redactOwn(own, secrets, clientRequest) }),
  })
}

function redactOwn({ body, ...rest }: TargetError, secrets: readonly string[], clientRequest: Buffer): TargetError {
  const reported = body === undefined ? null : redactBody(body, secrets, clientRequest)
  return reported === null ? rest : { ...rest, body: reported }
}

function accountIn(
  status: number | undefined,
  body: string,
  clientRequest: Buffer,
  meanings: ErrorMeanings,
): AccountTrouble | null {
  if (isRequestFault(status)) return accountTroubleIn(body, clientRequest, meanings)
  if (status === 404) return missesClientsOwn(body, clientRequest) ? 'quoted' : null
  if (status === undefined || status === 500) return refusesByTemplate(body) ? 'quoted' : null
  // Neither waiting nor another credential ends that.
  return (status === 429 || status === 403) && accountTroubleIn(body, clientRequest, meanings) === 'unpaid'
    ? 'unpaid'
    : null
}

/** Statuses by which a backend says that the request itself is wrong. */
const OWN_FAULT_STATUSES = new Set([400, 406, 413, 414, 415, 422, 424, 431, 451])
/**
 * Some 403s do not refuse our credential, and some 404s miss no model. They count as the 400 that other vendors send.
 */
const REFUSED = 400

function isRequestFault(status: number | undefined): boolean {
  return status !== undefined && OWN_FAULT_STATUSES.has(status)
}

export function isRequestsOwnFault({ status, account }: BackendFault): boolean {
  return isRequestFault(status) && account === undefined
}

/** Some servers fail at a request that others refuse: at an image that they cannot fetch (vllm-project/vllm#47163, 2026). */
export function mayBeTheRequests({ kind, status, account }: BackendFault): boolean {
  return kind === 'status' && status === 500 && account === undefined
}

/** The router's own timeout ended it. The target is at fault only if another one responds in time. */
export function isLeftWaiting(fault: BackendFault | undefined): boolean {
  return fault?.kind === 'first_byte_timeout' || fault?.kind === 'idle_timeout'
}

/** A refusal that a target with a larger context window may not repeat. */
export function isContextOverflow(fault: BackendFault): boolean {
  const { body, meanings } = fault
  if (!isRequestsOwnFault(fault) || !body) return false
  return meanings.tooLong.some((words) => words.test(body))
}

export interface FailureAttribution {
  /** Whose health suffers: the whole backend, this model on it, or nobody's. */
  on: 'backend' | 'target' | 'nobody'
  /** A hard fault ejects at once, a soft one only in a row. */
  weight: 'hard' | 'soft'
  /** The backend requested a pause of this length, or for one without saying how long. */
  coolMs?: number
}

const NOBODYS = new Set<FaultKind>(['out_of_time', 'shortage', 'no_summary'])

const DEFAULT_COOL_MS = 1_000
const MAX_COOL_MS = 300_000

export function attributeFailure(fault: BackendFault): FailureAttribution {
  if (isRequestsOwnFault(fault) || NOBODYS.has(fault.kind)) return { on: 'nobody', weight: 'soft' }
  if (fault.account !== undefined) return attributeToAccount(fault.account)
  switch (fault.kind) {
    case 'connect':
    case 'connect_timeout':
    case 'dns':
    case 'tls':
      return { on: 'backend', weight: 'hard' }
    case 'status':
      return attributeByStatus(fault)
    case 'invalid_answer':
      return { on: 'target', weight: 'soft' }
    default:
      return { on: 'backend', weight: 'soft' }
  }
}

function attributeToAccount(account: AccountTrouble): FailureAttribution {
  if (account === 'quoted') return { on: 'nobody', weight: 'soft' }
  if (account === 'no_model') return { on: 'target', weight: 'hard' }
  return { on: 'backend', weight: account === 'credential' ? 'hard' : 'soft' }
}

/** Anthropic is overloaded by a status of its own. */
const OVERLOADED = new Set([503, 529])

function attributeByStatus(fault: BackendFault): FailureAttribution {
  if (fault.status === 429 || (OVERLOADED.has(fault.status!) && fault.retryAfterMs !== undefined)) {
    return { on: 'target', weight: 'soft', coolMs: Math.min(fault.retryAfterMs ?? DEFAULT_COOL_MS, MAX_COOL_MS) }
  }
  if (fault.status === 401 || fault.status === 403) return { on: 'backend', weight: 'hard' }
  if (fault.status === 404) return { on: 'target', weight: 'hard' }
  return { on: 'backend', weight: 'soft' }
}

/**
 * True if a repeat at the same target has a fair chance: after passing troubles, not after misconfiguration. A target
 * that was left waiting is worth it, because a repeat waits longer (`core/attempts.ts`).
 */
export function isWorthRepeating(fault: BackendFault): boolean {
  if (fault.account !== undefined || fault.own?.shouldRetry === false) return false
  switch (fault.kind) {
    case 'first_byte_timeout':
    case 'idle_timeout':
    case 'shortage':
    case 'connect':
    case 'reset':
    case 'truncated':
    case 'error_event':
    case 'invalid_answer':
      return true
    case 'status':
      return fault.status! >= 500 || fault.status === 429 || fault.status === 408 || fault.status === 425
    default:
      return false
  }
}

/**
 * A request that the target could only serve differently. The client is informed, and its field named.
 */
export function refused(field: string, why: string): BackendFault {
  const message = `${field} ${why}`
  const body = JSON.stringify({ error: { message, type: 'invalid_request_error', param: field, code: null } })
  return new BackendFault('status', message, { status: 400, body, isUnsent: true })
}
