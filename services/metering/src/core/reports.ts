/**
 * A batch of messages as reports. Unreadable events are set aside with the reason, and the good events of the same message
 * stay.
 *
 * At-least-once delivery repeats reports, and a router and an edge may report the same request. Merged, one report per
 * request remains, sorted by request id, so that two writers take their row locks in the same order.
 */

import { decodeJson, encodeJson } from '@gateway/rpc/json'
import { chargeFor } from '@gateway/pricing/charge'
import { MOST_TOKENS } from '@gateway/contracts/usage'
import { usageEvent, type UsageEvent } from '@gateway/contracts/usage-event'
import type { IncludedRequest } from '@gateway/admission/port'

/** A usage event with the ledger's additions. */
export interface Report {
  event: UsageEvent
  rank: number
  /** In the event's unit: milli-tokens or nano-dollars. */
  charge: number
  sequence: number
}

export interface RejectedReport {
  payload: Uint8Array
  reason: string
  sequence: number
}

export interface Message {
  payload: Uint8Array
  sequence: number
}

export const RANK = { router: 1, edge: 2 } as const

export function readReports(messages: readonly Message[]): { reports: Report[]; rejected: RejectedReport[] } {
  const reports: Report[] = []
  const rejected: RejectedReport[] = []
  for (const { payload, sequence } of messages) {
    const events = readEvents(payload)
    if (typeof events === 'string') {
      rejected.push({ payload, reason: events, sequence })
      continue
    }
    for (const event of events) {
      const report = readReport(event, sequence)
      if (typeof report !== 'string') reports.push(report)
      else rejected.push({ payload: encodeJson(event as object), reason: report, sequence })
    }
  }
  return { reports, rejected }
}

/** A reporter that only a newer version knows ranks as a router does: an edge's report takes its place. */
function rankOf({ reporter }: UsageEvent): number {
  return reporter === 'edge' ? RANK.edge : RANK.router
}

/** The events of a message, still unchecked, or why it is none. */
function readEvents(payload: Uint8Array): unknown[] | string {
  try {
    const batch: unknown = decodeJson(payload)
    const isBatch = typeof batch === 'object' && batch !== null && 'v' in batch && 'events' in batch
    if (!isBatch || batch.v !== 1 || !Array.isArray(batch.events)) return 'not a batch of usage events of version 1'
    return batch.events
  } catch (error) {
    return `not JSON: ${error instanceof Error ? error.message : String(error)}`
  }
}

function readReport(value: unknown, sequence: number): Report | string {
  const parsed = usageEvent.safeParse(value)
  if (!parsed.success) return parsed.error.message
  const event = parsed.data
  const { promptTokens, completionTokens } = event.usage
  if (Math.max(promptTokens, completionTokens) > MOST_TOKENS) return 'no request has so many tokens'
  const charge = chargeFor(event.price, event.usage)
  if (charge >= Number.MAX_SAFE_INTEGER) return 'its charge is beyond what can be counted'
  return { event, rank: rankOf(event), charge, sequence }
}

export function mergeReports(reports: readonly Report[]): Report[] {
  const byRequest = new Map<string, Report>()
  for (const report of reports) {
    const id = report.event.requestId.toLowerCase()
    const held = byRequest.get(id)
    if (!held || outranks(report, held)) byRequest.set(id, report)
  }
  return [...byRequest].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, report]) => report)
}

/**
 * True: the report replaces the held one. An edge's replaces a router's, and of two routers' the one that charges more
 * stands. Both routers of a job that was dispatched twice may report it. The one that was stopped early has generated
 * less than the client saw. (The ledger's statement decides by the same rule.)
 */
function outranks(report: Report, held: Report): boolean {
  if (report.rank !== held.rank) return report.rank > held.rank
  return report.rank === RANK.router && report.charge > held.charge
}

/** The requests of an account in a window that a batch reported, and their keys. */
export interface WindowReports {
  account: string
  window: string
  keyIds: string[]
  included: IncludedRequest[]
}

export function groupByWindow(reports: readonly Report[]): WindowReports[] {
  const groups = new Map<string, WindowReports>()
  for (const report of reports) {
    const { event } = report
    const key = windowKey(event)
    const group = groups.get(key)
    if (group) {
      group.included.push(includedRequest(report))
      if (!group.keyIds.includes(event.keyId)) group.keyIds.push(event.keyId)
    } else {
      const { account, window, keyId } = event
      groups.set(key, { account, window, keyIds: [keyId], included: [includedRequest(report)] })
    }
  }
  return [...groups.values()]
}

/** As the report says, which holds where the ledger has taken it. */
function includedRequest({ event, rank }: Report): IncludedRequest {
  const { promptTokens, completionTokens } = event.usage
  return { requestId: event.requestId, tokens: promptTokens + completionTokens, mayChange: rank < RANK.edge }
}

/** A window is always seven characters, so this names one account's window and no other. */
export function windowKey(of: { account: string; window: string }): string {
  return `${of.window}${of.account}`
}

/** The time at which a UUIDv7 was made; of any other UUID, its first 48 bits as a time. */
export function timeOfRequestMs(requestId: string): number {
  return Number.parseInt(requestId.slice(0, 8) + requestId.slice(9, 13), 16)
}
