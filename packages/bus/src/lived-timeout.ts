/**
 * A timeout over time that this process lived through: a machine that stood still, or had no time for this process, says
 * nothing of the peer that is waited for.
 *
 * It counts ticks. Sockets are read before each tick is counted, so an answer that is there counts.
 */

/** A pause adds one of these to the time that was waited. */
const TICKS = 5

export class LivedTimeout {
  readonly #tickMs: number
  readonly #fire: () => void
  #ticksLeft = TICKS
  #timer: NodeJS.Timeout

  constructor(fire: () => void, ms: number) {
    this.#tickMs = ms / TICKS
    this.#fire = fire
    this.#timer = setTimeout(afterTimers, this.#tickMs, this)
  }

  count(): void {
    if (this.#ticksLeft === 0) return
    if (--this.#ticksLeft === 0) this.#fire()
    else this.#timer = setTimeout(afterTimers, this.#tickMs, this)
  }

  clear(): void {
    this.#ticksLeft = 0
    clearTimeout(this.#timer)
  }
}

function afterTimers(timeout: LivedTimeout): void {
  setImmediate(count, timeout)
}

function count(timeout: LivedTimeout): void {
  timeout.count()
}
