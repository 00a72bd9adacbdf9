/**
 * What a request holds of the process' memory: its body from the moment that it may be read, and what of its answer its
 * client has not taken. All of it is given back when the response has closed and the request runs for nobody else.
 */

import type { IncomingMessage } from 'node:http'
import { getHeapStatistics } from 'node:v8'
import { GatewayError } from '@gateway/contracts/errors'
import { memoryBytes } from '@gateway/service/memory'
import { createByteBudget, give, isCrowding, take, takeAnyway } from '../core/byte-budget.ts'
import type { BodyPot, ByteBudget, Taken } from '../core/byte-budget.ts'
import type { ClientNetwork } from '../listen/client-network.ts'
import type { StepResponse } from '../listen/take-steps.ts'

const MEGABYTE = 1024 * 1024
/** Of a request to a model. */
export const LARGEST_BODY_BYTES = 25 * MEGABYTE
/** Below this no kind of sender has room for a body of the largest size. */
export const LEAST_BYTES_IN_FLIGHT = 64 * MEGABYTE
const RETRY_AFTER_MS = 1_000
/** An answer that waits with less than this is never cut for want of room. */
export const SPARED_BYTES = 64 * 1024

export interface BytesInFlight {
  /** What this request holds, nothing at first. */
  hold(request: IncomingMessage, response: StepResponse): Hold
  /** For an answer that others may join: kept whole until it has ended. */
  holdAnswer(account: string): AnswerHold
  readonly budget: ByteBudget
}

export interface AnswerHold {
  /** Takes what is there already. False: there is no room, and this sender has more than its part of it. */
  owe(bytes: number): boolean
  paid(bytes: number): void
}

type CountShed = (reason: 'no_room' | 'sender_full' | 'unread_answer') => void

export function trackBytesInFlight(totalBytes: number, networkOf: ClientNetwork, countShed: CountShed): BytesInFlight {
  const budget = createByteBudget(totalBytes, LARGEST_BODY_BYTES)
  return {
    budget,
    hold(request, response) {
      const hold = new Hold(budget, request, networkOf, countShed)
      response.locals['hold'] = hold
      response.on('close', closeHold)
      return hold
    },
    holdAnswer: (account) => ({
      owe(bytes) {
        takeAnyway(budget, 'answers', account, bytes)
        return !isCrowding(budget, account)
      },
      paid: (bytes) => give(budget, 'answers', account, bytes),
    }),
  }
}

/**
 * A quarter of the container's memory, and never more than half of the heap: a body is there as bytes, as text and as
 * values for a moment, and once more as the bytes for the backend until its answer begins.
 */
export function usualBytesInFlight(): number {
  const memory = memoryBytes()
  const heap = getHeapStatistics().heap_size_limit
  return Math.max(LEAST_BYTES_IN_FLIGHT, Math.floor(Math.min(memory / 4, heap / 2)))
}

/** None: this request's body is small whoever sends it. */
export function holdOf({ locals }: StepResponse): Hold | undefined {
  return (locals as { hold?: Hold } | undefined)?.hold
}

/** Where nothing is counted, an answer may always wait. */
export const NOTHING_COUNTED: AnswerHold = { owe: () => true, paid() {} }

export function answerHoldOf(response: object): AnswerHold {
  return holdOf(response as StepResponse) ?? NOTHING_COUNTED
}

function closeHold(this: StepResponse): void {
  holdOf(this)?.responseClosed()
}

export class Hold implements AnswerHold {
  readonly #budget: ByteBudget
  readonly #request: IncomingMessage
  readonly #networkOf: ClientNetwork
  readonly #countShed: CountShed
  #pot: BodyPot = 'unproven'
  #sender = ''
  #body = 0
  #answer = 0
  #isClosed = false
  /** A claimed request runs on for others when its own client has left. */
  #running = 0

  constructor(budget: ByteBudget, request: IncomingMessage, networkOf: ClientNetwork, countShed: CountShed) {
    this.#budget = budget
    this.#request = request
    this.#networkOf = networkOf
    this.#countShed = countShed
  }

  /** Takes room for a small body whose key nobody has looked up. False: its key is to be looked up first. */
  takeUnproven(bytes: number): boolean {
    return this.#take('unproven', this.#networkOf(this.#request), bytes) === 'taken'
  }

  /** Until its key is proven, a connection holds what Node has read of its body already. */
  async whileProving<Proven>(bytes: number, prove: () => Promise<Proven>): Promise<Proven> {
    if (this.#take('proving', this.#networkOf(this.#request), bytes) !== 'taken') throw this.#refusal('full')!
    try {
      return await prove()
    } finally {
      this.#giveBody()
    }
  }

  /** Takes room for a body whose sender's key is alive, or refuses it. */
  takeProven(account: string, isGuest: boolean, bytes: number): void {
    const refusal = this.#refusal(this.#take(...this.#proven(account, isGuest), bytes))
    if (refusal) throw refusal
  }

  /** More or less of the body has come than was announced. Returns an error where there is no room for more. */
  bodyIs(bytes: number): GatewayError | null {
    if (this.#isClosed) return null
    const more = bytes - this.#body
    if (more <= 0) give(this.#budget, this.#pot, this.#sender, -more)
    else {
      const refusal = this.#refusal(take(this.#budget, this.#pot, this.#sender, more))
      if (refusal) return refusal
    }
    this.#body = bytes
    return null
  }

  /** The request was admitted: its key is alive, and nobody made up can hold on to its room. */
  admitted(account: string, isGuest: boolean): void {
    if (this.#pot !== 'unproven' || this.#body === 0) return
    const bytes = this.#body
    this.#giveBody()
    ;[this.#pot, this.#sender] = this.#proven(account, isGuest)
    this.#body = bytes
    takeAnyway(this.#budget, this.#pot, this.#sender, bytes)
  }

  /** The body is kept for as long as `run` takes, whoever has left meanwhile. */
  async whileRunning(run: () => Promise<void>): Promise<void> {
    this.#running++
    try {
      await run()
    } finally {
      this.#running--
      if (this.#isClosed && this.#running === 0) this.#giveBody()
    }
  }

  owe(bytes: number): boolean {
    if (this.#isClosed) return true
    this.#answer += bytes
    takeAnyway(this.#budget, 'answers', this.#sender, bytes)
    if (this.#answer <= SPARED_BYTES || !isCrowding(this.#budget, this.#sender)) return true
    this.#countShed('unread_answer')
    return false
  }

  paid(bytes: number): void {
    if (this.#isClosed) return
    this.#answer -= bytes
    give(this.#budget, 'answers', this.#sender, bytes)
  }

  responseClosed(): void {
    this.#isClosed = true
    if (this.#answer > 0) give(this.#budget, 'answers', this.#sender, this.#answer)
    this.#answer = 0
    if (this.#running === 0) this.#giveBody()
  }

  #proven(account: string, isGuest: boolean): [BodyPot, string] {
    return isGuest ? ['guests', this.#networkOf(this.#request)] : ['accounts', account]
  }

  #take(pot: BodyPot, sender: string, bytes: number): Taken {
    // Its client left while its key was looked up: nothing would give this back.
    if (this.#isClosed) return 'taken'
    const taken = take(this.#budget, pot, sender, bytes)
    if (taken === 'taken') {
      this.#pot = pot
      this.#sender = sender
      this.#body = bytes
    }
    return taken
  }

  #giveBody(): void {
    if (this.#body > 0) give(this.#budget, this.#pot, this.#sender, this.#body)
    this.#body = 0
  }

  #refusal(taken: Taken): GatewayError | null {
    if (taken === 'taken') return null
    if (taken === 'full') {
      this.#countShed('no_room')
      const sentence = 'The gateway has no room for this request at the moment; try again shortly'
      return new GatewayError('SERVICE_UNAVAILABLE', sentence, { retryAfterMs: RETRY_AFTER_MS })
    }
    this.#countShed('sender_full')
    const sentence = `The running requests of this sender have too many bytes; try again in ${RETRY_AFTER_MS} ms`
    return new GatewayError('rate_limit_exceeded', sentence, { type: 'requests', retryAfterMs: RETRY_AFTER_MS })
  }
}
