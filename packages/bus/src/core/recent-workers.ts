/**
 * Chooses the worker that a caller names in its next offer of a job, after the group's queue gave the job to one that did
 * not accept.
 *
 * A queue picks blindly: it gives a frozen worker its share of the jobs, and a job may meet the same one many times. A
 * worker that accepted other jobs meanwhile is not frozen. So the caller names one of those, in turn; where there is
 * none, it names each worker once, the latest to accept first. Pure: the clock is an argument.
 */

/** Of one subject. A worker has a new name each time it starts, so old names gather. */
const MOST_WORKERS = 64

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
