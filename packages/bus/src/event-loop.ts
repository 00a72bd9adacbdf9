/**
 * The end of a turn of the event loop, and time by the turns that this process lived through.
 */

const due: (() => void)[] = []

/**
 * The bus sends at the end of a turn: all requests of the turn share one write to the socket. That write costs more than
 * anything else that the bus does for them.
 *
 * Work that is added while the turn ends still belongs to it. Work that throws ends the process, as a callback of the
 * event loop would; the rest is done in the next turn.
 */
export function atTurnsEnd(work: () => void): void {
  if (due.push(work) === 1) setImmediate(endTurn)
}

let isEnding = false

/** Does now the work that waits for the end of the turn, unless that is being done. */
export function endTurn(): void {
  if (isEnding) return
  isEnding = true
  let done = 0
  try {
    for (; done < due.length; done++) due[done]!()
  } finally {
    isEnding = false
    due.splice(0, done + 1)
    if (due.length > 0) setImmediate(endTurn)
  }
}

/** A pause adds one of these to the time that was waited. */
const TICKS = 5

/**
 * A timeout over time that this process lived through. A machine that stood still, or had no time for this process,
 * proves nothing about the peer.
 *
 * It counts ticks. Sockets are read before each tick is counted, so a reply that is there counts.
 */
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
