/**
 * Bounds the bytes that responses hold in this process at once. Backends may send responses of any size.
 *
 * Small responses are free. A larger one takes its bytes from a budget. When none are left the response waits, in
 * order. The response that has waited longest may draw on a reserve, which is large enough for any response. Therefore
 * one response can always be finished, and no two responses wait for each other for ever. A response that waits longer
 * than its request has time fails, and no target is at fault.
 */

import { memoryBytes } from '@gateway/service/memory'
import { BackendFault } from './core/backend-fault.ts'

/** The most that one response may hold. */
export const LARGEST_RESPONSE_BYTES = 64 * 1024 * 1024
/** Bytes that each response may hold without a reservation. */
export const FREE_BYTES = 256 * 1024

/** A response takes several times its bytes while it is parsed and written again. */
const PART_OF_MEMORY = 1 / 8

export function responseBytesOfThisProcess(): number {
  return Math.max(LARGEST_RESPONSE_BYTES, memoryBytes() * PART_OF_MEMORY)
}

export interface WaitLimit {
  /** The time that it may wait. */
  withinMs: number
  signal: AbortSignal
}

export class ResponseMemory {
  /** Bytes of the budget that nobody holds; the reserve is not among them. */
  #left: number
  #reservedFor: HeldResponse | null = null
  #waiting: Waiting[] = []

  /** The reserve is a part of `totalBytes` and as large as the largest response. */
  constructor(totalBytes: number) {
    this.#left = Math.max(0, totalBytes - LARGEST_RESPONSE_BYTES)
  }

  open(): HeldResponse {
    return new HeldResponse(this)
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Undefined where it has the bytes at once. */
  take(response: HeldResponse, bytes: number, waitLimit: () => WaitLimit): Promise<void> | undefined {
    if (response === this.#reservedFor) return undefined
    if (this.#waiting.length === 0 && bytes <= this.#left) {
      this.#left -= bytes
      response.taken += bytes
      return undefined
    }
    return this.#wait(response, bytes, waitLimit())
  }

  /** The response holds nothing any more. */
  leave(response: HeldResponse): void {
    if (this.#reservedFor === response) this.#reservedFor = null
    for (const waiting of this.#waiting.filter((one) => one.response === response)) waiting.cancel()
    this.#left += response.taken
    response.taken = 0
    this.#serve()
  }

  #wait(response: HeldResponse, bytes: number, { withinMs, signal }: WaitLimit): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (then: () => void) => {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
        this.#waiting = this.#waiting.filter((other) => other !== waiting)
        then()
        this.#serve()
      }
      const onAbort = () => end(() => reject(signal.reason as Error))
      const late = () => new BackendFault('out_of_time', 'there was no room for the answer in time')
      const timer = setTimeout(() => end(() => reject(late())), Math.max(0, withinMs))
      const cancel = () => end(() => reject(new Error('the answer is over')))
      const waiting: Waiting = { response, bytes, served: () => end(resolve), cancel }
      this.#waiting.push(waiting)
      if (signal.aborted) onAbort()
      else {
        signal.addEventListener('abort', onAbort, { once: true })
        this.#serve()
      }
    })
  }

  #serve(): void {
    const first = this.#waiting[0]
    if (!first) return
    if (first.bytes <= this.#left) {
      this.#left -= first.bytes
      first.response.taken += first.bytes
    } else if (this.#reservedFor === null) this.#reservedFor = first.response
    else if (this.#reservedFor !== first.response) return
    first.served()
  }
}

interface Waiting {
  response: HeldResponse
  bytes: number
  served(): void
  cancel(): void
}

/** The bytes of one response. */
export class HeldResponse implements Disposable {
  /** Bytes of the budget; those of the reserve are not counted. */
  taken = 0
  #bytes = 0
  #requested = 0
  #isOver = false
  #memory: ResponseMemory

  constructor(memory: ResponseMemory) {
    this.#memory = memory
  }

  /** So many bytes more are held. Undefined where they may be at once; throws where the response is too large. */
  add(bytes: number, waitLimit: () => WaitLimit): Promise<void> | undefined {
    if (this.#isOver) throw new Error('the answer is over')
    this.#bytes += bytes
    if (this.#bytes > LARGEST_RESPONSE_BYTES)
      throw new BackendFault('invalid_answer', `the answer is larger than ${LARGEST_RESPONSE_BYTES} bytes`)
    const wanted = this.#bytes - FREE_BYTES - this.#requested
    if (wanted <= 0) return undefined
    this.#requested += wanted
    return this.#memory.take(this, wanted, waitLimit)
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    this.#memory.leave(this)
  }
}
