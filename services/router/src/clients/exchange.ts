/**
 * One HTTP request and its response, whose pieces go to one reader as they come.
 *
 * One timer guards it, whose time is by phase: connecting, waiting for the response to begin, reading (silence of the
 * backend, not of the reader). A plain response begins with its first byte. A stream begins when its reader says so:
 * headers, comments and empty pieces before that change nothing. {@link TimeoutPolicy} decides whether silence ends it.
 * The request's time bounds all phases together. The socket closes as soon as the exchange fails or is aborted, unless
 * the response is complete. In the middle of a response it is reset.
 */

import type { Timeouts } from '@gateway/contracts/vendors'
import type { Dispatcher } from 'undici'
import { endsAttempt, type TimeoutPolicy } from '../core/attempts.ts'
import { BackendFault, type FaultKind } from '../core/backend-fault.ts'
import { breakOff } from './connections.ts'
import { faultOfError } from './network-errors.ts'

export interface ExchangeResponse {
  status: number
  headers: Record<string, string | string[] | undefined>
}

/** Returns whether the reader wants more. A promise makes the next piece wait. */
export type Take = (piece: Buffer) => boolean | Promise<boolean>

interface Reader {
  take: Take
  /** It takes a piece, and the others wait. */
  isBusy: boolean
  resolve(isComplete: boolean): void
  reject(reason: unknown): void
}

/** The backend is read ahead of a slow reader by this much. */
const READ_AHEAD_BYTES = 64 * 1024
/** After the last word of a stream, its end may take this long. */
const GOODBYE_MS = 3_000
/** The router reads the rest behind a response's end this long, to keep the connection. */
const DISCARD_MS = 1_000
/** Where nobody else could take the request when it was silent for too long, that is looked at again so often. */
const LOOK_AGAIN_MS = 1_000

export class Exchange implements Dispatcher.DispatchHandler {
  /** Resolves when the status and headers are there; rejects with a {@link BackendFault}. */
  readonly response: Promise<ExchangeResponse>
  /** Resolves, never rejects, when the connection is free again or gone. */
  readonly closed: Promise<void>
  /** When the piece that was taken last had come, by `performance.now()`. */
  receivedAtMs = 0

  #timeouts: Timeouts
  #timeoutPolicy: TimeoutPolicy
  #budgetEndsAtMs: number
  #timer: NodeJS.Timeout | undefined
  #timerDueAtMs = Infinity
  /** The silence that the present phase allows. */
  #phaseMs = 0
  /** Since when the backend has been silent, or its reader ready again. */
  #silentSinceMs = 0
  #phase: 'connect_timeout' | 'first_byte_timeout' | 'idle_timeout' | 'over' = 'connect_timeout'
  #controller: Dispatcher.DispatchController | null = null
  /** The response's status, since its headers are there. */
  #status: number | undefined
  #fault: unknown = null
  #hasBegun = false
  #received = Promise.withResolvers<ExchangeResponse>()
  #over = Promise.withResolvers<void>()
  #queue: { piece: Buffer; receivedAtMs: number }[] = []
  #queuedBytes = 0
  #paused = false
  #discarding = false
  #reader: Reader | null = null

  constructor(timeouts: Timeouts, budgetMs: number, timeoutPolicy: TimeoutPolicy) {
    this.#timeouts = timeouts
    this.#timeoutPolicy = timeoutPolicy
    this.#budgetEndsAtMs = performance.now() + budgetMs
    this.response = this.#received.promise
    this.response.catch(() => {})
    this.closed = this.#over.promise
    this.#arm(timeouts.connectMs)
  }

  /** The backend has the request, and has neither refused it nor failed. */
  get isAtWork(): boolean {
    return this.#phase !== 'connect_timeout' && this.#fault === null && !this.#isRefused
  }

  /** The backend had got the request when the exchange ended, and had not refused it. */
  get wasAtWork(): boolean {
    return this.#controller !== null && !this.#isRefused
  }

  get #isRefused(): boolean {
    return this.#status !== undefined && this.#status >= 300
  }

  get #isOver(): boolean {
    return this.#phase === 'over'
  }

  /** The response has begun: a plain one with its first byte, a stream where its reader says so. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /**
   * Gives each piece of the response to `take`, in order. It does so in the turn in which the piece comes, or once the promise for
   * the one before is settled. Resolves with true at the end of the response, and with false where `take` wants no more. Rejects with a
   * {@link BackendFault}, the abort's reason, or an error of `take`.
   */
  pass(take: Take): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    this.#reader = { take, isBusy: false, resolve, reject }
    this.#giveQueued()
    return promise
  }

  /** The whole response; a larger one than `limit` is a fault. `reserve` may make it wait for memory. */
  async readAll(limit: number, reserve?: (bytes: number) => Promise<void> | undefined): Promise<Buffer> {
    const pieces: Buffer[] = []
    let bytes = 0
    await this.pass((piece) => {
      bytes += piece.length
      if (bytes > limit) {
        const fault = new BackendFault('invalid_answer', `the answer is larger than ${limit} bytes`)
        this.abort(fault)
        throw fault
      }
      pieces.push(piece)
      return reserve?.(piece.length)?.then(() => true) ?? true
    })
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
  }

  /** The stream has begun and no other target can take over, so it may use all the time that the request has left. */
  begin(budgetMs: number): void {
    if (this.#phase === 'over') return
    this.#budgetEndsAtMs = performance.now() + budgetMs
    this.listen()
  }

  /** All that matters has come: the rest must follow soon. */
  expectEnd(): void {
    if (this.#status === undefined || this.#phase === 'over') return
    this.#budgetEndsAtMs = Math.min(this.#budgetEndsAtMs, performance.now() + GOODBYE_MS)
    this.listen()
  }

  /** Gives up; the reader gets `reason`. */
  abort(reason: unknown): void {
    if (this.#phase === 'over') return
    this.#queue = []
    this.#fail(reason)
    // Not yet on a connection: it is aborted as soon as it would start.
    const close = () => this.#controller?.abort(reason instanceof Error ? reason : new Error('aborted'))
    if (this.#status !== undefined) breakOff(close)
    else close()
  }

  /** Reads and drops the rest of the response, so that the connection can serve again. */
  discard(): void {
    if (this.#phase === 'over') return
    this.#discarding = true
    this.#queue = []
    this.#queuedBytes = 0
    if (this.#paused) this.#resume()
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.abort(new Error('the backend kept sending after its answer')), DISCARD_MS)
  }

  /** The request could not be sent at all. */
  refuse(fault: BackendFault): void {
    this.#fail(fault)
    this.#over.resolve()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#fault !== null) {
      controller.abort(this.#fault instanceof Error ? this.#fault : new Error('aborted'))
      return
    }
    this.#phase = 'first_byte_timeout'
    this.#arm(Math.min(this.#timeouts.firstByteMs, this.#timeoutPolicy.shareMs))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ExchangeResponse['headers']): void {
    if (status < 200 || this.#phase === 'over') return
    this.#status = status
    this.#received.resolve({ status, headers })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#discarding || this.#phase === 'over') return
    const nowMs = performance.now()
    if (this.#phase === 'first_byte_timeout' && !this.#timeoutPolicy.stream) this.listen()
    else this.#hear(nowMs)
    if (this.#reader?.isBusy === false && this.#queue.length === 0) {
      this.#give(this.#reader, chunk, nowMs)
      // Its reader has aborted the exchange.
      if (this.#isOver) this.#giveQueued()
      return
    }
    this.#queue.push({ piece: chunk, receivedAtMs: nowMs })
    this.#queuedBytes += chunk.length
    if (this.#queuedBytes >= READ_AHEAD_BYTES && !this.#paused) {
      this.#paused = true
      controller.pause()
    }
  }

  onResponseEnd(): void {
    if (this.#phase !== 'over') {
      this.#phase = 'over'
      clearTimeout(this.#timer)
      this.#giveQueued()
    }
    this.#over.resolve()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(faultOfError(error, this.#phase === 'connect_timeout' ? 'connecting' : 'connected'))
    this.#over.resolve()
  }

  #fail(reason: unknown): void {
    if (this.#phase === 'over') return
    this.#phase = 'over'
    this.#fault = reason
    clearTimeout(this.#timer)
    this.#received.reject(reason)
    this.#giveQueued()
  }

  #give(reader: Reader, piece: Buffer, receivedAtMs: number): void {
    this.receivedAtMs = receivedAtMs
    reader.isBusy = true
    try {
      const taken = reader.take(piece)
      if (typeof taken === 'boolean') return this.#taken(reader, taken)
      taken.then(
        (wantsMore) => {
          this.#taken(reader, wantsMore)
          this.#giveQueued()
        },
        (thrown: unknown) => this.#leave(reader.reject, thrown),
      )
    } catch (thrown) {
      this.#leave(reader.reject, thrown)
    }
  }

  #taken(reader: Reader, wantsMore: boolean): void {
    reader.isBusy = false
    if (!wantsMore) this.#leave(reader.resolve, false)
  }

  /** Gives the pieces that came while nobody read, and then the end. */
  #giveQueued(): void {
    for (let reader = this.#reader; reader !== null && !reader.isBusy; reader = this.#reader) {
      const queued = this.#queue.shift()
      if (queued) {
        this.#queuedBytes -= queued.piece.length
        this.#hear(performance.now())
        this.#give(reader, queued.piece, queued.receivedAtMs)
        // Now, and not before: a connection may give more before it returns.
        if (this.#paused && this.#queue.length === 0 && !this.#isOver) this.#resume()
      } else if (this.#fault !== null) this.#leave(reader.reject, this.#fault)
      else if (this.#isOver) this.#leave(reader.resolve, true)
      else return
    }
  }

  #leave<Outcome>(settle: (outcome: Outcome) => void, outcome: Outcome): void {
    this.#reader = null
    settle(outcome)
  }

  #resume(): void {
    this.#paused = false
    this.#controller?.resume()
  }

  /** The stream has begun, whether its client sees it or not: from now on silence between pieces counts. */
  listen(): void {
    if (this.#phase === 'over') return
    this.#hasBegun = true
    this.#phase = 'idle_timeout'
    this.#arm(this.#timeouts.idleMs)
  }

  /** Before the response has begun, pieces are no sign that it will. */
  #hear(nowMs: number): void {
    if (this.#phase === 'idle_timeout') this.#silentSinceMs = nowMs
  }

  #arm(phaseMs: number): void {
    this.#phaseMs = phaseMs
    this.#silentSinceMs = performance.now()
    this.#lookIn(Math.min(phaseMs, this.#budgetEndsAtMs - this.#silentSinceMs), this.#silentSinceMs)
  }

  /** A timer that is due earlier stays: it looks again, and most calls are over by then. */
  #lookIn(waitMs: number, nowMs: number): void {
    if (nowMs + waitMs >= this.#timerDueAtMs) return
    clearTimeout(this.#timer)
    this.#timerDueAtMs = nowMs + waitMs
    this.#timer = setTimeout(() => this.#onTimer(), Math.max(0, waitMs))
  }

  /** Pieces that came meanwhile only moved a mark: most timers of a flowing response never need to be touched. */
  #onTimer(): void {
    if (this.#phase === 'over') return
    const phaseMs = this.#phaseMs
    this.#timerDueAtMs = Infinity
    const nowMs = performance.now()
    if (this.#queue.length > 0) this.#hear(nowMs)
    const budgetLeftMs = this.#budgetEndsAtMs - nowMs
    let lookInMs = this.#silentSinceMs + phaseMs - nowMs
    if (lookInMs <= 1 && !this.#isSilenceTheEnd()) lookInMs = Math.min(phaseMs, LOOK_AGAIN_MS)
    if (lookInMs > 1 && budgetLeftMs > 1) return this.#lookIn(Math.min(lookInMs, budgetLeftMs), nowMs)
    const isShareOver = this.#phase === 'first_byte_timeout' && phaseMs < this.#timeouts.firstByteMs
    const kind: FaultKind = budgetLeftMs <= 1 || isShareOver ? 'out_of_time' : this.#phase
    this.abort(new BackendFault(kind, `the backend took too long: ${kind}`))
  }

  #isSilenceTheEnd(): boolean {
    if (this.#phase === 'first_byte_timeout' || this.#phase === 'idle_timeout') {
      return endsAttempt(this.#phase, this.#timeoutPolicy)
    }
    return true
  }
}
