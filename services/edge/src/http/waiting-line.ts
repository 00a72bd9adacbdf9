/**
 * Requests that came while the process takes no more. Each waits in the order of arrival, for {@link LONGEST_WAIT_MS} at
 * most, and is then refused. A client that is refused at once comes back at once, and every refusal takes time from the
 * requests that are served.
 *
 * Nobody reads a body here. So only small bodies wait, and all of them together have a bound in bytes.
 */

import { SMALL_BODY_BYTES } from '../requests/parse-json.ts'
import type { StepRequest, StepResponse } from './take-steps.ts'

export interface Waiting {
  response: Pick<StepResponse, 'destroyed'>
  /** Of the body that is to come. */
  bytes: number
  untilMs: number
  /** The request goes on. */
  run(): void
  refuse(): void
}

/**
 * Another second passes behind the line under overload, and clients often wait for two in all. After a whole second in line a
 * fifth of them had left; after half a second a fifth was refused too early.
 */
export const LONGEST_WAIT_MS = 750
const MOST_WAITING = 4_096
const MOST_BYTES = 16 * 1024 * 1024

/** The length of a body that may wait; null: this one may not. */
export function waitableBytes({ headers }: Pick<StepRequest, 'headers'>): number | null {
  if (headers['transfer-encoding'] !== undefined) return null
  const bytes = Number(headers['content-length'] ?? 0)
  return bytes <= SMALL_BODY_BYTES ? bytes : null
}

/** A queue whose head moves on, since an array of thousands is slow to shift. */
export class WaitingLine {
  #waiting: Waiting[] = []
  #head = 0
  #bytes = 0

  get size(): number {
    return this.#waiting.length - this.#head
  }

  /** False: the line is full. */
  add(waiting: Waiting): boolean {
    if (this.size >= MOST_WAITING || this.#bytes + waiting.bytes > MOST_BYTES) return false
    this.#waiting.push(waiting)
    this.#bytes += waiting.bytes
    return true
  }

  /** The next one whose client has not left. */
  take(): Waiting | undefined {
    while (this.size > 0) {
      const next = this.#shift()
      if (!next.response.destroyed) return next
    }
    return undefined
  }

  /** Those whose time is over. */
  *takeDue(nowMs: number): Generator<Waiting> {
    while (this.size > 0 && this.#waiting[this.#head]!.untilMs <= nowMs) {
      const next = this.#shift()
      if (!next.response.destroyed) yield next
    }
  }

  #shift(): Waiting {
    const next = this.#waiting[this.#head]!
    this.#head++
    this.#bytes -= next.bytes
    if (this.#head >= 1_024 && this.#head * 2 >= this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#head)
      this.#head = 0
    }
    return next
  }
}
