/**
 * What a request holds of the process' memory: its body from the moment that it may be read, and what of its answer its
 * client has not taken. All of it is given back when the response has closed and the request runs for nobody else.
 */

import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { availableParallelism } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { GatewayError } from '@gateway/contracts/errors'
import type { GatewayConfig } from '@gateway/contracts/config'
import { findPlan } from '@gateway/contracts/models'
import type { AccountCache } from '../auth/account-cache.ts'
import { memoryBytes } from '@gateway/service/memory'
import { createByteBudget, give, isCrowding, take, takeAnyway } from '../core/memory-budget.ts'
import type { BodyBudget, ByteBudget, Taken } from '../core/memory-budget.ts'
import { createWorkShares, took, tookFor, waitFor, type WorkShares } from '../core/work-shares.ts'
import type { ClientNetwork } from './client-network.ts'
import type { StepResponse } from './take-steps.ts'

const MEGABYTE = 1024 * 1024
/** Of a request to a model. */
export const LARGEST_BODY_BYTES = 25 * MEGABYTE
/** Below this no kind of sender has room for a body of the largest size. */
export const LEAST_BYTES_IN_FLIGHT = 64 * MEGABYTE
const RETRY_AFTER_MS = 1_000
/**
 * For a request that the edge refuses, or answers without a backend: a whole one takes all processes 0.35 ms
 * (`dev/bench/README.md`).
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
/** An answer that waits with less than this is never cut for want of room. */
export const SPARED_BYTES = 64 * 1024

export interface BytesInFlight {
  /** What this request holds, nothing at first. */
  hold(request: IncomingMessage, response: StepResponse): MemoryReservation
  /** For an answer that others may join: kept whole until it has ended. */
  reserveResponse(account: string): ResponseReservation
  readonly budget: ByteBudget
  readonly work: WorkShares
}

export interface ResponseReservation {
  /** Takes what is there already. False: there is no room, and this sender has more than its part of it. */
  owe(bytes: number): boolean
  paid(bytes: number): void
}

type CountShed = (reason: 'no_room' | 'sender_full' | 'unread_answer') => void

export function trackBytesInFlight(totalBytes: number, networkOf: ClientNetwork, countShed: CountShed): BytesInFlight {
  const budget = createByteBudget(totalBytes, LARGEST_BODY_BYTES)
  const work = createWorkShares()
  return {
    budget,
    work,
    hold(request, response) {
      const hold = new MemoryReservation({ budget, work }, request, networkOf, countShed)
      response.locals['hold'] = hold
      response.on('close', closeReservation)
      return hold
    },
    reserveResponse: (account) => ({
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

function overShare(waitMs: number): GatewayError {
  const retryAfterMs = Math.ceil(waitMs)
  const sentence = `The requests of this sender take more than its share of the time; try again in ${retryAfterMs} ms`
  return new GatewayError('rate_limit_exceeded', sentence, { type: 'requests', retryAfterMs })
}

/** A refusal for another reason than the key says that the key is alive. */
export function noteProven(
  edge: KnownAccounts,
  hold: MemoryReservation,
  { account }: { account: string },
  refusal: unknown,
): void {
  const plan = edge.plans.planOf(account)
  if (plan === null || (refusal instanceof GatewayError && refusal.code === 'INVALID_KEY')) return
  hold.provenAs(account, findPlan(edge.config.current, plan).guest)
}

interface KnownAccounts {
  plans: Pick<AccountCache, 'planOf'>
  config: { readonly current: GatewayConfig }
}

/** None: this request's body is small whoever sends it. */
export function reservationOf({ locals }: StepResponse): MemoryReservation | undefined {
  return (locals as { hold?: MemoryReservation } | undefined)?.hold
}

/** Where nothing is counted, an answer may always wait. */
export const NOTHING_COUNTED: ResponseReservation = { owe: () => true, paid() {} }

export function responseReservationOf(response: object): ResponseReservation {
  return reservationOf(response as StepResponse) ?? NOTHING_COUNTED
}

function closeReservation(this: StepResponse): void {
  reservationOf(this)?.responseClosed()
}

export class MemoryReservation implements ResponseReservation {
  readonly #budget: ByteBudget
  readonly #work: WorkShares
  /** Of the event loop's time. */
  #workedMs = 0
  #threadMs = 0
  readonly #request: IncomingMessage
  readonly #networkOf: ClientNetwork
  readonly #countShed: CountShed
  #kind: BodyBudget = 'unproven'
  #sender: string
  #body = 0
  #unread = 0
  #isClosed = false
  /** A claimed request runs on for others when its own client has left. */
  #running = 0

  constructor(
    { budget, work }: { budget: ByteBudget; work: WorkShares },
    request: IncomingMessage,
    networkOf: ClientNetwork,
    countShed: CountShed,
  ) {
    this.#budget = budget
    this.#work = work
    this.#request = request
    this.#networkOf = networkOf
    this.#sender = networkOf(request)
    this.#countShed = countShed
  }

  /** Whom its bytes and its work count for. */
  get sender(): string {
    return `${this.#kind} ${this.#sender}`
  }

  /** Runs work of the event loop, and counts its time. */
  whileWorking<Result>(work: () => Result): Result {
    const sinceMs = performance.now()
    try {
      return work()
    } finally {
      this.#worked(performance.now() - sinceMs)
    }
  }

  /** The event loop reads so many bytes of the sender, to keep them. */
  reads(bytes: number): void {
    this.#worked(bytes * MS_OF_A_BYTE)
  }

  /** Its request is refused, and nobody keeps what has come of its body. */
  dropBody(): void {
    if (this.#running === 0) this.#giveBody()
  }

  drops(bytes: number): void {
    this.#worked(bytes * MS_OF_A_DROPPED_BYTE)
  }

  #worked(ms: number): void {
    this.#workedMs += ms
    took(this.#work, this.sender, ms, performance.now())
  }

  /** A thread read its body, which is the sender's fault where the request is refused. */
  usedThread(ms: number): void {
    this.#threadMs += ms
  }

  isOverShare(): boolean {
    return this.msOverShare() > 0
  }

  /** How long until its sender has no more than its share of the event loop's time. */
  msOverShare(): number {
    return waitFor(this.#work, this.sender, performance.now())
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
    if (more <= 0) give(this.#budget, this.#kind, this.#sender, -more)
    else {
      const refusal = this.#refusal(take(this.#budget, this.#kind, this.#sender, more))
      if (refusal) return refusal
    }
    this.#body = bytes
    return null
  }

  /** Its key is alive: from now on its bytes and its work are its account's, or its network's for a guest. */
  provenAs(account: string, isGuest: boolean): void {
    if (this.#isProven) return
    const [bytes, before] = [this.#body, this.sender]
    this.#giveBody()
    ;[this.#kind, this.#sender] = this.#proven(account, isGuest)
    this.#body = bytes
    if (bytes > 0) takeAnyway(this.#budget, this.#kind, this.#sender, bytes)
    tookFor(this.#work, before, this.sender, this.#workedMs, performance.now())
  }

  /** The request is refused, which is work, too. Returns how long its sender waits for that. */
  refused(): number {
    this.#worked(REFUSAL_MS + this.#threadMs / CORES)
    this.#threadMs = 0
    // Refused together, they do not come back together.
    const longestMs = LONGEST_HOLD_MS * (0.5 + Math.random() / 2)
    return Math.min(longestMs, this.msOverShare())
  }

  /** The edge answers the request itself. */
  respondsItself(): Promise<void> {
    this.#worked(REFUSAL_MS)
    return this.waitForShare()
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
    this.#unread += bytes
    takeAnyway(this.#budget, 'answers', this.#sender, bytes)
    if (this.#unread <= SPARED_BYTES || !isCrowding(this.#budget, this.#sender)) return true
    this.#countShed('unread_answer')
    return false
  }

  paid(bytes: number): void {
    if (this.#isClosed) return
    this.#unread -= bytes
    give(this.#budget, 'answers', this.#sender, bytes)
  }

  responseClosed(): void {
    this.#isClosed = true
    if (this.#unread > 0) give(this.#budget, 'answers', this.#sender, this.#unread)
    this.#unread = 0
    if (this.#running === 0) this.#giveBody()
  }

  get #isProven(): boolean {
    return this.#kind === 'accounts' || this.#kind === 'guests'
  }

  #proven(account: string, isGuest: boolean): [BodyBudget, string] {
    return isGuest ? ['guests', this.#networkOf(this.#request)] : ['accounts', account]
  }

  #take(memoryBudget: BodyBudget, sender: string, bytes: number): Taken {
    // Its client left while its key was looked up: nothing would give this back.
    if (this.#isClosed) return 'taken'
    const taken = take(this.#budget, memoryBudget, sender, bytes)
    if (taken === 'taken') {
      this.#kind = memoryBudget
      this.#sender = sender
      this.#body = bytes
    }
    return taken
  }

  #giveBody(): void {
    if (this.#body > 0) give(this.#budget, this.#kind, this.#sender, this.#body)
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
