/**
 * How much a process takes on at once, found out from how long what it took on had to wait.
 *
 * A process that is late takes less, so that what it takes is done in time; one that is not takes more again. Late means
 * that in two windows in a row even the shortest wait was longer than the target, as CoDel judges a queue: a pause of the
 * collector, a burst or one slow shard leaves others that waited little, and what began before a window is no witness in
 * it. The limit then falls to what was done in the target's time, and rises by a quarter for each window whose shortest wait is
 * below half of the target. In between it stays, which is where it comes to rest.
 *
 * Windows are slow where a queue grows quickly. So nothing is taken either while those that come to their end have waited for
 * twice the target: the queue stands, and whoever joined it would wait for longer. That bounds the wait, whatever the limit.
 *
 * It never falls below `least`: so few are no load, so that their lateness has another cause, which refusals do not mend.
 * For the same reason a window with no more than so many at once lets it rise, late or not: a burst after it is served.
 * And something always goes through and tells how long it took. Pure: the clock is an argument.
 */

interface ShedTuning {
  targetMs: number
  least: number
  /** Without a sign of lateness so much is taken, or what is done in the target's time if that is more. */
  most: number
}

export interface ShedLimit {
  readonly tuning: ShedTuning
  /** At most so many at once. */
  value: number
  windowFromMs: number
  shortestMs: number
  waits: number
  /** Of the one that came to its end last. */
  lastWaitMs: number
  lastAtMs: number
  /** All that came to their end, witnesses or not. */
  done: number
  /** Those that ended in time before they came so far, as they may not. */
  turnedAway: number
  /** Given back by those who were to do the work, because they are late themselves. */
  refusedBehind: number
  /** The most at once in this window. */
  peak: number
  lateWindows: number
}

/** How often `judge` is to be called. */
export const WINDOW_MS = 250
/** Fewer witnesses are waited for. */
const LEAST_WAITS = 4
const LONGEST_WINDOW_MS = 1_000
/** Without any witness: an outage of a broker or a store is shorter mostly, and taking less would not mend it. */
const LONGEST_SILENCE_MS = 3_000
const LATE_WINDOWS = 2
/** Of the target. */
const STANDS_AT = 2
/** No window is proof of a smaller capacity. */
const LEAST_FALL = 0.25
const REFUSED_FALL = 0.5
const RISE = 1.25
/** Of what came to its end in a window. */
const REFUSED_SHARE = 0.1

export function createShedLimit(tuning: ShedTuning, nowMs: number): ShedLimit {
  const limit = { tuning, value: tuning.most, lateWindows: 0, lastWaitMs: 0, lastAtMs: nowMs } as ShedLimit
  beginWindow(limit, 0, nowMs)
  return limit
}

function beginWindow(limit: ShedLimit, count: number, nowMs: number): void {
  limit.windowFromMs = nowMs
  limit.shortestMs = Infinity
  limit.waits = 0
  limit.done = 0
  limit.turnedAway = 0
  limit.refusedBehind = 0
  limit.peak = count
}

/** Whether one more is taken on beside `count` others. */
export function hasRoom(limit: ShedLimit, count: number, nowMs: number): boolean {
  if (count >= limit.peak) limit.peak = count + 1
  return count < limit.value && !(count >= limit.tuning.least && stands(limit, nowMs))
}

/** Where nothing comes to its end, something else is away. */
function stands({ tuning, lastWaitMs, lastAtMs }: ShedLimit, nowMs: number): boolean {
  const longestMs = STANDS_AT * tuning.targetMs
  return lastWaitMs > longestMs && nowMs - lastAtMs < longestMs
}

/** The same for a sender that the process has not served before. While it is late, those have half of the room. */
export function hasRoomForStranger(limit: ShedLimit, count: number, nowMs: number): boolean {
  return hasRoom(limit, count, nowMs) && (limit.value >= limit.tuning.most || count < limit.value / 2)
}

export function noteWait(limit: ShedLimit, sinceMs: number, nowMs: number): void {
  limit.done++
  limit.lastWaitMs = nowMs - sinceMs
  limit.lastAtMs = nowMs
  if (sinceMs < limit.windowFromMs) return
  limit.waits++
  if (nowMs - sinceMs < limit.shortestMs) limit.shortestMs = nowMs - sinceMs
}

/** No witness, because it did not wait for all that others wait for. But it shows that the process is not silent. */
export function noteTurnedAway(limit: ShedLimit): void {
  limit.turnedAway++
}

export function noteRefusedBehind(limit: ShedLimit): void {
  limit.refusedBehind++
}

/** `count`: what is under way now. */
export function judge(limit: ShedLimit, count: number, nowMs: number): void {
  const lastedMs = nowMs - limit.windowFromMs
  const isAwaited = limit.waits < LEAST_WAITS && (count > 0 || limit.waits > 0)
  const isStanding = stands(limit, nowMs)
  if (!isStanding && isAwaited && lastedMs < (limit.waits === 0 ? LONGEST_SILENCE_MS : LONGEST_WINDOW_MS)) return
  const { targetMs, least, most } = limit.tuning
  // Where things are under way and nothing ended, all have waited for as long as the window lasted.
  const isSilent = limit.waits === 0 && limit.turnedAway === 0 && count > 0
  const shortestMs = limit.waits > 0 ? limit.shortestMs : isSilent ? lastedMs : 0
  const isRefused = limit.refusedBehind > Math.max(1, limit.done * REFUSED_SHARE)
  const isLoaded = limit.peak > least
  if (isLoaded && (isStanding || shortestMs > targetMs || isRefused)) {
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
