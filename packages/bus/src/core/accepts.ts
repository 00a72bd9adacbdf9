/**
 * Accepts of late teach a caller two things about its next offers: how long to wait for an accept, and which worker to
 * name. Pure: the clock is an argument.
 */

const USUAL_GAIN = 1 / 8
const SPREAD_GAIN = 1 / 4
const SPREADS = 4
/** Offers that were given up, and that an accept may still be on its way for. */
const MOST_GIVEN_UP = 1_024

/**
 * How long a caller waits for its jobs to be accepted before it offers them again.
 *
 * A worker that is frozen or dead never accepts, so the wait should be short; one that is merely busy accepts late, and
 * a second offer only adds to what it has to do. The two are told apart by what accepting took of late, as a TCP sender
 * tells a lost segment from a slow one: the usual time and four times its spread, never less than `leastMs`, never more
 * than `mostMs`. Accepts that come after the caller gave up count too.
 */
export class AcceptPatience {
  readonly #leastMs: number
  readonly #mostMs: number
  #usualMs = 0
  #spreadMs = 0
  /** When each stream was offered, oldest first. */
  readonly #givenUp = new Map<number, number>()

  constructor(leastMs: number, mostMs: number) {
    this.#leastMs = leastMs
    this.#mostMs = Math.max(leastMs, mostMs)
  }

  /** The whole wait of an offer whose caller waits `atLeastMs`. */
  waitMs(atLeastMs = 0): number {
    const usual = Math.max(this.#leastMs, this.#usualMs + SPREADS * this.#spreadMs)
    return Math.max(atLeastMs, Math.min(this.#mostMs, usual))
  }

  /** An accept that took longer than anybody waits tells of a worker that was frozen, not of one that is busy. */
  accepted(tookMs: number): void {
    if (tookMs > this.#mostMs) return
    this.#spreadMs += (Math.abs(tookMs - this.#usualMs) - this.#spreadMs) * SPREAD_GAIN
    this.#usualMs += (tookMs - this.#usualMs) * USUAL_GAIN
  }

  gaveUp(stream: number, offeredAtMs: number): void {
    if (this.#givenUp.size >= MOST_GIVEN_UP) this.#givenUp.delete(this.#givenUp.keys().next().value!)
    this.#givenUp.set(stream, offeredAtMs)
  }

  /** An accept of a stream that is over. */
  acceptedLate(stream: number, nowMs: number): void {
    const offeredAtMs = this.#givenUp.get(stream)
    if (offeredAtMs === undefined) return
    this.#givenUp.delete(stream)
    this.accepted(nowMs - offeredAtMs)
  }
}

/** Of one subject. A worker has a new name each time it starts, so old names gather. */
const MOST_WORKERS = 64

/**
 * Chooses the worker that a caller names in its next offer of a job, after the group's queue gave the job to one that did
 * not accept.
 *
 * A queue picks blindly: it gives a frozen worker its share of the jobs, and a job may meet the same one many times. A
 * worker that accepted other jobs meanwhile is not frozen. So the caller names one of those, in turn; where there is
 * none, it names each worker once, the latest to accept first.
 */
export class RecentWorkers {
  /** By subject: when each worker last accepted, the latest last. */
  readonly #acceptedAtMs = new Map<string, Map<string, number>>()
  #turn = 0

  accepted(subject: string, worker: string, nowMs: number): void {
    let workers = this.#acceptedAtMs.get(subject)
    if (workers === undefined) this.#acceptedAtMs.set(subject, (workers = new Map()))
    workers.delete(worker)
    workers.set(worker, nowMs)
    if (workers.size > MOST_WORKERS) workers.delete(workers.keys().next().value!)
  }

  /** The worker is gone, or gives the subject's jobs back. */
  forget(subject: string, worker: string): void {
    this.#acceptedAtMs.get(subject)?.delete(worker)
  }

  /**
   * The worker to name in a job's next offer; undefined: leave it to the queue. `timeouts`: offers of the job that
   * nobody accepted. `sinceMs`: when the last of them was made.
   */
  choose(subject: string, timeouts: number, sinceMs: number): string | undefined {
    const workers = this.#acceptedAtMs.get(subject)
    if (workers === undefined || timeouts === 0) return undefined
    const latestFirst = [...workers].reverse()
    const awake = latestFirst.filter(([, acceptedAtMs]) => acceptedAtMs > sinceMs)
    if (awake.length > 0) return awake[this.#turn++ % awake.length]![0]
    return latestFirst[timeouts - 1]?.[0]
  }
}
