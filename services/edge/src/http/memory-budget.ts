/**
 * Reserves the process' memory for a request. A reservation holds the request's body from the moment that it may be read. It also
 * holds the part of its response that its client has not read. It ends when the response has closed and the request runs for
 * nobody else.
 *
 * The reservation knows the request's sender: an address, and the account once its key is proven. The request's CPU time
 * (`cpu-account.ts`) counts for the same sender.
 */

import type { IncomingMessage } from 'node:http'
import { getHeapStatistics } from 'node:v8'
import { GatewayError } from '@gateway/contracts/errors'
import type { GatewayConfig } from '@gateway/contracts/config'
import { findPlan } from '@gateway/contracts/models'
import type { AccountCache } from '../auth/account-cache.ts'
import { memoryBytes } from '@gateway/service/memory'
import { createByteBudget, give, isCrowding, take, takeAnyway } from '../core/memory-budget.ts'
import type { BodyBudget, ByteBudget, Taken } from '../core/memory-budget.ts'
import { type CpuShares, createCpuShares } from '../core/cpu-shares.ts'
import type { ClientNetwork } from './client-network.ts'
import { CpuAccount } from './cpu-account.ts'
import type { StepResponse } from './take-steps.ts'

const MEGABYTE = 1024 * 1024
/** Of a request to a model. */
export const LARGEST_BODY_BYTES = 25 * MEGABYTE
/** Below this no kind of sender has memory for a body of the largest size. */
export const LEAST_BYTES_IN_FLIGHT = 64 * MEGABYTE
const RETRY_AFTER_MS = 1_000
/** A response that waits with less than this is never cut for want of memory. */
export const SPARED_BYTES = 64 * 1024

export interface BytesInFlight {
  /** Begins the reservation of this request, which holds nothing at first. */
  reserveRequest(request: IncomingMessage, response: StepResponse): MemoryReservation
  /** For a response that others may join: all of it is kept until it has ended. */
  reserveResponse(account: string): ResponseReservation
  readonly budget: ByteBudget
}

export interface ResponseReservation {
  /** Takes memory for bytes that are there already. False: there is none, and this sender has more than its part of it. */
  reserve(bytes: number): boolean
  release(bytes: number): void
}

type CountShed = (reason: 'no_room' | 'sender_full' | 'unread_answer') => void

export function trackBytesInFlight(totalBytes: number, networkOf: ClientNetwork, countShed: CountShed): BytesInFlight {
  const budget = createByteBudget(totalBytes, LARGEST_BODY_BYTES)
  const shares = createCpuShares()
  return {
    budget,
    reserveRequest(request, response) {
      const reservation = new MemoryReservation({ budget, shares }, request, networkOf, countShed)
      response.locals['reservation'] = reservation
      response.on('close', closeReservation)
      return reservation
    },
    reserveResponse: (account) => ({
      reserve(bytes) {
        takeAnyway(budget, 'answers', account, bytes)
        return !isCrowding(budget, account)
      },
      release: (bytes) => give(budget, 'answers', account, bytes),
    }),
  }
}

/**
 * A quarter of the container's memory, and never more than half of the heap. For a moment a body is there as bytes, as text and
 * as values. It is there once more as the bytes for the backend until its response begins.
 */
export function usualBytesInFlight(): number {
  const memory = memoryBytes()
  const heap = getHeapStatistics().heap_size_limit
  return Math.max(LEAST_BYTES_IN_FLIGHT, Math.floor(Math.min(memory / 4, heap / 2)))
}

/** A refusal for another reason than the key says that the key is alive. */
export function noteProven(
  edge: KnownAccounts,
  reservation: MemoryReservation,
  { account }: { account: string },
  refusal: unknown,
): boolean {
  const plan = edge.plans.planOf(account)
  if (plan === null || (refusal instanceof GatewayError && refusal.code === 'INVALID_KEY')) return false
  reservation.provenAs(account, findPlan(edge.config.current, plan).guest)
  return true
}

interface KnownAccounts {
  plans: Pick<AccountCache, 'planOf'>
  config: { readonly current: GatewayConfig }
}

/** Undefined: this request's body is small for every sender. */
export function reservationOf({ locals }: StepResponse): MemoryReservation | undefined {
  return (locals as { reservation?: MemoryReservation } | undefined)?.reservation
}

/** Where nothing is counted, a response may always wait. */
export const NOTHING_COUNTED: ResponseReservation = { reserve: () => true, release() {} }

export function responseReservationOf(response: object): ResponseReservation {
  return reservationOf(response as StepResponse) ?? NOTHING_COUNTED
}

function closeReservation(this: StepResponse): void {
  reservationOf(this)?.responseClosed()
}

export class MemoryReservation implements ResponseReservation {
  /** The event loop's time that the request takes. */
  readonly cpu: CpuAccount
  /** True where its address is over its share, and its key names an account that this edge has served. */
  isOfKnownAccount = false
  /** True where the event loop reads a body that is not small. */
  isReadAtOnce = false
  readonly #budget: ByteBudget
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
    { budget, shares }: { budget: ByteBudget; shares: CpuShares },
    request: IncomingMessage,
    networkOf: ClientNetwork,
    countShed: CountShed,
  ) {
    this.#budget = budget
    this.cpu = new CpuAccount(shares, this, countShed)
    this.#request = request
    this.#networkOf = networkOf
    this.#sender = networkOf(request)
    this.#countShed = countShed
  }

  /** Its bytes and its CPU time count for this sender. */
  get sender(): string {
    return `${this.#kind} ${this.#sender}`
  }

  /** Its request is refused, and nobody keeps the part of its body that has come. */
  dropBody(): void {
    if (this.#running === 0) this.#giveBody()
  }

  /** Takes memory for a small body whose key nobody has looked up. False: its key is to be looked up first. */
  takeUnproven(bytes: number): boolean {
    return this.#take('unproven', this.#networkOf(this.#request), bytes) === 'taken'
  }

  /** Until its key is proven, a connection holds the bytes of its body that Node has already read. */
  async whileProving<Proven>(bytes: number, prove: () => Promise<Proven>): Promise<Proven> {
    if (this.#take('proving', this.#networkOf(this.#request), bytes) !== 'taken') throw this.#refusal('full')!
    try {
      return await prove()
    } finally {
      this.#giveBody()
    }
  }

  /** Takes memory for a body whose sender's key is alive, or refuses it. */
  takeProven(account: string, isGuest: boolean, bytes: number): void {
    const refusal = this.#refusal(this.#take(...this.#proven(account, isGuest), bytes))
    if (refusal) throw refusal
  }

  /** More or less of the body has come than was announced. Returns an error where there is no memory for more. */
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

  /** Its key is alive: from now on its bytes and its CPU time are its account's, or its network's for a guest. */
  provenAs(account: string, isGuest: boolean): void {
    if (this.#isProven) return
    const [bytes, before] = [this.#body, this.sender]
    this.#giveBody()
    ;[this.#kind, this.#sender] = this.#proven(account, isGuest)
    this.#body = bytes
    if (bytes > 0) takeAnyway(this.#budget, this.#kind, this.#sender, bytes)
    this.cpu.moveFrom(before)
  }

  /** The body is kept for as long as `run` takes, also when its client has left meanwhile. */
  async whileRunning(run: () => Promise<void>): Promise<void> {
    this.#running++
    try {
      await run()
    } finally {
      this.#running--
      if (this.#isClosed && this.#running === 0) this.#giveBody()
    }
  }

  reserve(bytes: number): boolean {
    if (this.#isClosed) return true
    this.#unread += bytes
    takeAnyway(this.#budget, 'answers', this.#sender, bytes)
    if (this.#unread <= SPARED_BYTES || !isCrowding(this.#budget, this.#sender)) return true
    this.#countShed('unread_answer')
    return false
  }

  release(bytes: number): void {
    if (this.#isClosed) return
    this.#unread -= bytes
    give(this.#budget, 'answers', this.#sender, bytes)
  }

  responseClosed(): void {
    this.#isClosed = true
    this.cpu.close()
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
