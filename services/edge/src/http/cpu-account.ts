/**
 * Counts the event loop's time that a request takes, against its sender's share of it. A request whose sender is over its share
 * waits, or is refused with the time to retry.
 *
 * The time counts for the request's sender at that moment. Where a proven key changes the sender, `moveFrom` moves it.
 */

import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError } from '@gateway/contracts/errors'
import { type CpuShares, took, tookFor, waitFor } from '../core/cpu-shares.ts'

/**
 * The time of a request that the edge refuses, or serves without a backend. All processes together take 0.35 ms for a complete
 * one (`dev/bench/README.md`).
 */
const REFUSAL_MS = 0.5
/** Of a body that is kept. With the kernel's part, 2.9 MB through a loopback socket take 3 to 6 ms. */
const MS_OF_A_BYTE = 2e-6
/** A body that nobody wants comes at a quarter of that: one sender's at 16 MB a second. */
const MS_OF_A_DROPPED_BYTE = 8e-6
/** A thread takes no more from the event loop than its part of them. */
const CORES = availableParallelism()
/** A refusal is held back for so long at most. */
const LONGEST_HOLD_MS = 1_000

export class CpuAccount {
  readonly #shares: CpuShares
  readonly #owner: { readonly sender: string }
  readonly #countShed: (reason: 'sender_full') => void
  #usedMs = 0
  #threadMs = 0

  constructor(shares: CpuShares, owner: { readonly sender: string }, countShed: (reason: 'sender_full') => void) {
    this.#shares = shares
    this.#owner = owner
    this.#countShed = countShed
  }

  get sender(): string {
    return this.#owner.sender
  }

  /** Runs work of the event loop, and counts its time. */
  measure<Result>(work: () => Result): Result {
    const sinceMs = performance.now()
    try {
      return work()
    } finally {
      this.#charge(performance.now() - sinceMs)
    }
  }

  /** The event loop reads so many bytes of the sender, to keep them. */
  chargeRead(bytes: number): void {
    this.#charge(bytes * MS_OF_A_BYTE)
  }

  /** The event loop reads so many bytes of the sender, and drops them. */
  chargeDropped(bytes: number): void {
    this.#charge(bytes * MS_OF_A_DROPPED_BYTE)
  }

  /** A thread read its body, which is the sender's fault where the request is refused. */
  usedThread(ms: number): void {
    this.#threadMs += ms
  }

  /** The request is refused, which is work, too. Returns how long its sender waits for that. */
  chargeRefusal(): number {
    this.#charge(REFUSAL_MS + this.#threadMs / CORES)
    this.#threadMs = 0
    // Refused together, they do not come back together.
    const longestMs = LONGEST_HOLD_MS * (0.5 + Math.random() / 2)
    return Math.min(longestMs, this.msOverShare())
  }

  /** The edge serves the request without a backend. Resolves within the sender's share, as `waitForShare` does. */
  chargeOwnResponse(): Promise<void> {
    this.#charge(REFUSAL_MS)
    return this.waitForShare()
  }

  isOverShare(): boolean {
    return this.msOverShare() > 0
  }

  /** The time until its sender has no more than its share of the event loop's time. */
  msOverShare(): number {
    return waitFor(this.#shares, this.sender, performance.now())
  }

  /** Rejects with a 429 where the sender has taken so much that a wait would not mend it. */
  async waitForShare(): Promise<void> {
    const waitMs = this.msOverShare()
    if (waitMs > LONGEST_HOLD_MS) {
      this.#countShed('sender_full')
      throw overShare(waitMs)
    }
    if (waitMs > 0) await sleep(waitMs)
  }

  /** The time so far was counted for `before`; from now on it is the present sender's. */
  moveFrom(before: string): void {
    tookFor(this.#shares, before, this.sender, this.#usedMs, performance.now())
  }

  #charge(ms: number): void {
    this.#usedMs += ms
    took(this.#shares, this.sender, ms, performance.now())
  }
}

function overShare(waitMs: number): GatewayError {
  const retryAfterMs = Math.ceil(waitMs)
  const sentence = `The requests of this sender take more than its share of the time; try again in ${retryAfterMs} ms`
  return new GatewayError('rate_limit_exceeded', sentence, { type: 'requests', retryAfterMs })
}
