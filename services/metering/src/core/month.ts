/**
 * The ledger's months, in UTC: a request belongs to the month in which its id was made.
 */

/** A month of a calendar year in UTC, as windows are written: `2026-11`. */
export type Month = string

export function monthOf(timeMs: number): Month {
  return new Date(timeMs).toISOString().slice(0, 7)
}

function startOfMonthMs(month: Month): number {
  return Date.parse(`${month}-01T00:00:00.000Z`)
}

export function addMonths(month: Month, count: number): Month {
  const start = new Date(startOfMonthMs(month))
  return monthOf(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + count, 1))
}

/** The time at which a UUIDv7 was made; of any other UUID, its first 48 bits as a time. */
export function timeOfRequestMs(requestId: string): number {
  return Number.parseInt(requestId.slice(0, 8) + requestId.slice(9, 13), 16)
}

/**
 * The month in which a UUIDv7 was made; of any other UUID, the month of its first 48 bits, or null beyond the calendar.
 */
export function monthOfRequest(requestId: string): Month | null {
  const timeMs = timeOfRequestMs(requestId)
  return timeMs < Date.UTC(9999, 0) ? monthOf(timeMs) : null
}

/** The least UUID of this month: ids of the month lie from its bound up to the next month's. */
export function leastRequestIdOf(month: Month): string {
  const hex = startOfMonthMs(month).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}
