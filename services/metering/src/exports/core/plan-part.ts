/**
 * Decides on the next file of an export. A file belongs to a day in UTC and has at most so many rows. Full files are written as
 * they fill up; the rest of a day follows after its end. A row that comes later stands in the next file, marked as late.
 */

export interface Pending {
  /** Rows of this day and earlier ones are late. */
  closedThrough: string | null
  /** The first day after it, up to today, that has rows. */
  openDay: string | null
  /** Rows of that day. */
  rows: number
  /** Rows of closed days, and of days that are still to come. */
  others: number
  /** Rows of former files that were changed since. */
  corrections: number
}

export interface Clock {
  today: string
  /** The last day whose rows are all expected to be here. */
  lastEnded: string
}

export type Step =
  | { kind: 'wait' }
  /** `isLast`: the day ends with it, where it takes all that there is. */
  | { kind: 'part'; day: string; isLast: boolean }
  | { kind: 'close'; day: string }

/** For the reports of a day's last responses: metering takes them up within seconds. */
const GRACE_MS = 10 * 60_000
const DAY_MS = 24 * 3_600_000

export function clockAt(nowMs: number): Clock {
  return { today: utcDay(nowMs), lastEnded: utcDay(nowMs - GRACE_MS - DAY_MS) }
}

export function utcDay(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10)
}

/** `isRequested`: an operator wants all rows that are here. */
export function planPart(
  { closedThrough, openDay, rows, others, corrections }: Pending,
  { today, lastEnded }: Clock,
  { isRequested, mostRows }: { isRequested: boolean; mostRows: number },
): Step {
  const ended = endedDay(closedThrough, openDay, lastEnded)
  const isEmpty = rows + others + corrections === 0
  if (ended !== null) return isEmpty ? { kind: 'close', day: ended } : { kind: 'part', day: ended, isLast: true }
  const isDue = isRequested ? !isEmpty : rows + others >= mostRows
  return isDue ? { kind: 'part', day: openDay ?? today, isLast: false } : { kind: 'wait' }
}

/** Days close in their order, those without rows too. */
function endedDay(closedThrough: string | null, openDay: string | null, lastEnded: string): string | null {
  if (openDay !== null && openDay <= lastEnded) return openDay
  return closedThrough === null || closedThrough < lastEnded ? lastEnded : null
}

/** For how long the rows of an ended day have waited for their file. */
export function behindMs({ day, clock, nowMs }: { day: string | null; clock: Clock; nowMs: number }): number {
  if (day === null || day > clock.lastEnded) return 0
  return Math.max(0, nowMs - Date.parse(`${day}T00:00:00Z`) - DAY_MS - GRACE_MS)
}
