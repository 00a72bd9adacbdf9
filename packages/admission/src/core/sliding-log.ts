/**
 * Requests per minute, exactly: the times of the admitted requests of the last 60 seconds, oldest first. A request
 * leaves the log when it is 60 seconds old, so that no 60 seconds ever hold more than the limit.
 */

export const MINUTE_MS = 60_000

export type SlidingLog = readonly number[]

/** The log without those that have left. */
export function lastMinute(log: SlidingLog, nowMs: number): SlidingLog {
  const oldest = log.findIndex((atMs) => atMs > nowMs - MINUTE_MS)
  if (oldest === 0) return log
  return oldest === -1 ? [] : log.slice(oldest)
}

/** How long until one more fits; 0 when it does now. `log` holds the last minute. */
export function waitForRoom(log: SlidingLog, limit: number, nowMs: number): number {
  const blocking = log[log.length - limit]
  return blocking === undefined ? 0 : blocking + MINUTE_MS - nowMs
}

/** How long until the log is empty. */
export function waitForEmpty(log: SlidingLog, nowMs: number): number {
  const newest = log.at(-1)
  return newest === undefined ? 0 : newest + MINUTE_MS - nowMs
}
