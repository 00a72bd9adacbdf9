/**
 * Limits the requests that a process takes at once, by the time that earlier requests waited.
 *
 * A late process takes fewer requests, so that it serves those in time; a process in time takes more again. As CoDel judges a
 * queue, a process is late when in two windows in a row even the shortest wait was longer than the target. A pause of the
 * collector, a burst or one slow shard leaves others that waited little. A request that began before a window does not count in
 * it. The limit then falls to the number that the process served in the target's time. It rises by a quarter for each window
 * whose shortest wait is below half of the target. In between it stays, and comes to rest there.
 *
 * Windows are slow where a queue grows quickly. So the process takes nothing while the requests that leave the queue have
 * waited twice the target, since the next one would wait for longer. That bounds the wait at any limit.
 *
 * The limit never falls below `least`. So few requests are no load: their lateness has another cause, which refusals do not
 * mend. For the same reason the limit rises after a window with at most `least` requests at once, late or not. A burst after it
 * is served. Some request always goes through and shows the present wait. Pure: the clock is an argument.
 */

interface ShedTuning {
  targetMs: number
  least: number
  /** The limit without a sign of lateness, unless the process serves more in the target's time. */
  most: number
}

export interface ShedLimit {
  readonly tuning: ShedTuning
  /** The most requests at once. */
  value: number
  windowFromMs: number
  shortestMs: number
  waits: number
  /** The wait of the request that left the queue last. */
  lastWaitMs: number
  lastAtMs: number
  /** All requests that left the queue in this window, with those that began before it. */
  done: number
  /** Requests that admission refused in time, before they could wait for a router. */
  turnedAway: number
  /** Requests that the routers gave back, because they are late themselves. */
  refusedBehind: number
  /** The most at once in this window. */
  peak: number
  lateWindows: number
}

/** The caller calls `judge` at this interval, except while the process is at rest. */
export const WINDOW_MS = 250
/** A window with fewer waits lasts longer. */
const LEAST_WAITS = 4
const LONGEST_WINDOW_MS = 1_000
/** For a window without any wait: most outages of a broker or a store are shorter, and a lower limit would not mend them. */
const LONGEST_SILENCE_MS = 3_000
const LATE_WINDOWS = 2
/** A multiple of the target. */
const STANDS_AT = 2
/** One window lowers the limit to a quarter at most. */
const LEAST_FALL = 0.25
const REFUSED_FALL = 0.5
const RISE = 1.25
/** A share of the requests that left the queue in a window. */
const REFUSED_SHARE = 0.1

export function createShedLimit(tuning: ShedTuning, nowMs: number): ShedLimit {
  const limit = { tuning, value: tuning.most, lateWindows: 0, lastWaitMs: 0, lastAtMs: nowMs } as ShedLimit
  beginWindow(limit, 0, nowMs)
  return limit
}

/** `judge` begins the next window by itself. A caller that has left windows out begins one. */
export function beginWindow(limit: ShedLimit, count: number, nowMs: number): void {
  limit.windowFromMs = nowMs
  limit.shortestMs = Infinity
  limit.waits = 0
  limit.done = 0
  limit.turnedAway = 0
  limit.refusedBehind = 0
  limit.peak = count
}

/** Says whether the process takes one more request beside `count` others. */
export function hasCapacity(limit: ShedLimit, count: number, nowMs: number): boolean {
  if (count >= limit.peak) limit.peak = count + 1
  return count < limit.value && !(count >= limit.tuning.least && stands(limit, nowMs))
}

/** The queue stands. A queue that no request leaves does not count: another part is away then. */
function stands({ tuning, lastWaitMs, lastAtMs }: ShedLimit, nowMs: number): boolean {
  const longestMs = STANDS_AT * tuning.targetMs
  return lastWaitMs > longestMs && nowMs - lastAtMs < longestMs
}

/** The same for a sender that the process has not served before. While it is late, such senders share half of the capacity. */
export function hasCapacityForStranger(limit: ShedLimit, count: number, nowMs: number): boolean {
  return hasCapacity(limit, count, nowMs) && (limit.value >= limit.tuning.most || count < limit.value / 2)
}

export function noteWait(limit: ShedLimit, sinceMs: number, nowMs: number): void {
  limit.done++
  limit.lastWaitMs = nowMs - sinceMs
  limit.lastAtMs = nowMs
  if (sinceMs < limit.windowFromMs) return
  limit.waits++
  if (nowMs - sinceMs < limit.shortestMs) limit.shortestMs = nowMs - sinceMs
}

/** This request is no measure, since it did not wait for a router. But it shows that the process is not silent. */
export function noteTurnedAway(limit: ShedLimit): void {
  limit.turnedAway++
}

export function noteRefusedBehind(limit: ShedLimit): void {
  limit.refusedBehind++
}

/** Nothing has happened in the window, and `judge` would only begin the next one. */
export function isAtRest(limit: ShedLimit): boolean {
  const { tuning, value, lateWindows, peak, waits, done, turnedAway, refusedBehind } = limit
  const isUsed = peak + waits + done + turnedAway + refusedBehind > 0
  return !isUsed && lateWindows === 0 && value >= tuning.most
}

/** `count`: the requests that are under way now. */
export function judge(limit: ShedLimit, count: number, nowMs: number): void {
  const lastedMs = nowMs - limit.windowFromMs
  const isAwaited = limit.waits < LEAST_WAITS && (count > 0 || limit.waits > 0)
  const isStuck = stands(limit, nowMs)
  if (!isStuck && isAwaited && lastedMs < (limit.waits === 0 ? LONGEST_SILENCE_MS : LONGEST_WINDOW_MS)) return
  const { targetMs, least, most } = limit.tuning
  // Where no request left the queue, all in it have waited for as long as the window lasted.
  const isSilent = limit.waits === 0 && limit.turnedAway === 0 && count > 0
  const shortestMs = limit.waits > 0 ? limit.shortestMs : isSilent ? lastedMs : 0
  const isRefused = limit.refusedBehind > Math.max(1, limit.done * REFUSED_SHARE)
  const isLoaded = limit.peak > least
  if (isLoaded && (isStuck || shortestMs > targetMs || isRefused)) {
    limit.lateWindows++
    if (limit.lateWindows >= LATE_WINDOWS) {
      const taken = Math.min(limit.value, limit.peak)
      const inTime = (limit.done / lastedMs) * targetMs
      const fallen = isRefused ? taken * REFUSED_FALL : Math.max(taken * LEAST_FALL, Math.min(taken, inTime))
      limit.value = Math.max(least, Math.floor(fallen))
    }
  } else {
    limit.lateWindows = 0
    if (!isLoaded || shortestMs <= targetMs / 2) {
      const ceiling = Math.max(most, Math.ceil((limit.done / lastedMs) * targetMs))
      if (limit.value < ceiling) limit.value = Math.min(ceiling, Math.ceil(limit.value * RISE))
    }
  }
  beginWindow(limit, count, nowMs)
}
