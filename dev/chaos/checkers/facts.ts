/**
 * The facts behind every verdict: the logs of clients and backends, the data of ledger and admission store in the end,
 * the injected faults.
 */

import type { AdministrationCall } from '../clients/administrator.ts'
import type { LimitLog } from '../clients/limit-log.ts'
import type { Seen } from '../clients/seen.ts'
import type { Alone } from '../stage/watch-logs.ts'
import type { OwnerKind } from '../plan/owners.ts'
import type { FaultAction } from '../plan/faults.ts'

export interface Facts {
  seen: readonly Seen[]
  calls: readonly Call[]
  rows: readonly LedgerRow[]
  windows: readonly WindowFact[]
  /** The admission store's record of each account. */
  store: readonly StoreFact[]
  backlog: Backlog
  owners: readonly { name: string; kind: OwnerKind; account: string }[]
  injected: readonly Injected[]
  /** When an edge found the admission store away and decided by itself. */
  alone: readonly Alone[]
  /** When Redis' Sentinels or its cluster promoted a replica, by its own word. */
  promotionsAtMs: readonly number[]
  /** Null in a run without projects. */
  administration: Administration | null
}

export interface Administration extends LimitLog {
  calls: readonly AdministrationCall[]
  audit: {
    rows: readonly AuditRow[]
    /** The verdict of `ctl audit verify`. */
    checked: number
    problem: string | null
  }
}

export interface AuditRow {
  type: string
  userAgent: string | null
  requestId: string | null
}

export interface Injected {
  fault: FaultAction & { number: number }
  injectedAtMs: number
  /** Null: not in time. */
  healedAtMs: number | null
  /** Requests whose reports were destroyed before metering is known to have consumed them. */
  destroyed: string[]
  /** The process that died at a failpoint. */
  victim: string | null
  /** The time for which a former primary took writes that no replica, or no majority, received. */
  servedMs?: number
  /** The number of scripts that edges which knew the successor sent to a former primary. */
  strayed?: number
  /** The harm that a hostile client did to others. */
  harm?: string[]
  note: string
}

/** One call that a backend was sent. */
export interface Call {
  backend: string
  /** `x-request-id`: the gateway's name of the request. */
  requestId: string
  /** The client's own name of it, found in the text. */
  id: string
  brought: Brought
  responseId: string | null
  outcome: 'running' | 'completed' | 'aborted'
  usage: { promptTokens: number; completionTokens: number } | null
  startedAtMs: number
  /** Null where it runs on. */
  endedAtMs: number | null
  /** Its response had begun. */
  hasResponded: boolean
}

/** The earlier parts of its conversation, as its backend got them. */
export interface Brought {
  /** Requests by their names, its own one last. */
  ids: readonly string[]
  /** The responses with whose thoughts the backend's own signatures came back, in their order. */
  thoughtsOf: readonly string[]
  /** The summary of a compaction. */
  hasSummary: boolean
}

/** The `id` of a call whose client has no log. */
export const NAMELESS = '?'

export interface LedgerRow {
  requestId: string
  reporter: 'edge' | 'router'
  account: string
  unit: 'tokens' | 'usd'
  lane: string
  backend: string
  promptTokens: number
  completionTokens: number
  estimated: boolean
  charge: number
  /** Its edge and its metering distinguish it from others under its `Idempotency-Key`; those of the last release do not. */
  isClaimed: boolean
  /** The request whose response was paid for in its place, and the price that it would have had. */
  voidedBy: string | null
  voidedCharge: number | null
  outcome: string
  delivered: boolean
  recordedAtMs: number
}

export interface WindowFact {
  account: string
  /** The window's total, null where there is none. */
  total: number | null
  /** The sum of its rows. */
  sum: number
}

export interface StoreFact {
  account: string
  /** It claims to know the window's total: not since it forgot it, until the next request. */
  known: boolean
  settled: number
  running: number
  ended: number
  /** The running and ended sums of all keys with a limit of a month. */
  heldForKeys: number
  /** Requests of which a record is still there. */
  records: string[]
  leases: number
}

export interface Backlog {
  /** Durable events that metering has not acknowledged. */
  events: number
  owedTotals: number
  rejected: number
}

export interface Violation {
  /** Client's names of the requests concerned, or the gateway's where no client knows them. */
  requests: string[]
  what: string
}

export interface Verdict {
  invariant: string
  /** The number of checked items. */
  checked: number
  violations: Violation[]
}
