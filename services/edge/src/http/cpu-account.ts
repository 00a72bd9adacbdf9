/**
 * Counts the event loop's time that a request takes, against its sender's share of it. A request whose sender is over its share
 * waits, or is refused with the time to retry.
 *
 * The time counts for the request's sender at that moment. Where a proven key changes the sender, `moveFrom` moves it.
 *
 * Work that a thread could do instead counts apart, against the account's share of such work. An account that has used it up has
 * threads do the work, and none of its requests waits for that.
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
/** Of a message of a WebSocket that needs no response: 75,000 a second take all of the time. */
const MESSAGE_MS = 0.015
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
  #prepaidMs = 0
  #threadMs = 0
  #isAdmitted = false
  #isClosed = false
  /** The event loop does a thread's work for the request: the time counts for this sender. */
  #insteadOfThread: string | null = null
  #insteadMs = 0

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
      this.#chargeWork(performance.now() - sinceMs)
    }
  }

  /** From now on the event loop does a thread's work for the request. False: the account has used up its share of that. */
  workInsteadOfThread(account: string): boolean {
    const sender = `at once ${account}`
    if (waitFor(this.#shares, sender, performance.now()) > 0) return false
    this.#insteadOfThread = sender
    return true
  }

  /** The event loop reads so many bytes of the sender, to keep them. The announced ones are charged already. */
  chargeRead(bytes: number): void {
    const ms = bytes * MS_OF_A_BYTE
    const prepaidMs = Math.min(ms, this.#prepaidMs)
    this.#prepaidMs -= prepaidMs
    this.#charge(ms - prepaidMs)
  }

  /** The event loop reads so many bytes of the sender, and drops them. */
  chargeDropped(bytes: number): void {
    this.#charge(bytes * MS_OF_A_DROPPED_BYTE)
  }

  /** A thread read its body. That counts for its sender unless admission lets the request run, and nobody refuses it then. */
  usedThread(ms: number): void {
    this.#threadMs += ms
    // Its client left meanwhile.
    if (this.#isClosed) this.#chargeThread()
  }

  /** The request runs, and its account pays for that. */
  admitted(): void {
    this.#isAdmitted = true
  }

  /** Its response has closed. */
  close(): void {
    this.#isClosed = true
    if (!this.#isAdmitted) this.#chargeThread()
  }

  /** The request is refused, which is work, too. Returns how long its sender waits for that. */
  chargeRefusal(): number {
    this.#charge(REFUSAL_MS)
    this.#chargeThread()
    // Refused together, they do not come back together.
    const longestMs = LONGEST_HOLD_MS * (0.5 + Math.random() / 2)
    return Math.min(longestMs, this.msOverShare())
  }

  /** The edge serves the request without a backend. Resolves within the sender's share, as `waitForShare` does. */
  chargeOwnResponse(): Promise<void> {
    this.chargeServed()
    return this.waitForShare()
  }

  /** The same, where the sender waits for its share later. */
  chargeServed(): void {
    this.#charge(REFUSAL_MS)
  }

  /** Returns the time that the sender of such a message waits for its share. */
  chargeMessage(): number {
    this.#charge(MESSAGE_MS)
    return this.msOverShare()
  }

  isOverShare(): boolean {
    return this.msOverShare() > 0
  }

  /** The time until its sender has no more than its share of the event loop's time. */
  msOverShare(): number {
    return waitFor(this.#shares, this.sender, performance.now())
  }

  /**
   * Rejects with a 429 where the sender has taken so much that a wait would not mend it. The bytes that are to come are charged at
   * once. So requests that come together go on one after another: all of them would find the sender within its share.
   */
  async waitForShare(bytesToCome = 0): Promise<void> {
    const waitMs = this.msOverShare()
    if (waitMs > LONGEST_HOLD_MS) {
      this.#countShed('sender_full')
      throw overShare(waitMs)
    }
    const ms = bytesToCome * MS_OF_A_BYTE
    this.#prepaidMs += ms
    this.#charge(ms)
    if (waitMs > 0) await sleep(waitMs)
  }

  /** The announced bytes are not kept. Those that come are charged as dropped. */
  refuseAnnounced(): void {
    this.#charge(-this.#prepaidMs)
    this.#prepaidMs = 0
  }

  /** The time so far was counted for `before`; from now on it is the present sender's. */
  moveFrom(before: string): void {
    tookFor(this.#shares, before, this.sender, this.#usedMs, performance.now())
  }

  #chargeThread(): void {
    this.#charge(this.#insteadMs + this.#threadMs / CORES)
    this.#threadMs = 0
    this.#insteadMs = 0
  }

  #chargeWork(ms: number): void {
    if (this.#insteadOfThread === null) return this.#charge(ms)
    this.#insteadMs += ms
    took(this.#shares, this.#insteadOfThread, ms, performance.now())
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
