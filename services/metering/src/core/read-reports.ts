/**
 * Reads the messages of a batch. It sets unreadable events aside with the reason, and keeps the good events of the same
 * message.
 */

import { decodeJson, encodeJson } from '@gateway/bus/json'
import { chargeFor } from '@gateway/pricing/charge'
import { MOST_TOKENS } from '@gateway/contracts/usage'
import { usageEvent, type UsageEvent } from '@gateway/contracts/usage-event'

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
