/**
 * The conversations that the messages of one WebSocket may continue: the last response of each stream, as OpenAI's service
 * keeps them. They live in memory and as long as their socket, and no longer than the account's part of that memory allows.
 */

import { bytesOf, type Ended, type Items } from '../core/turn-message.ts'
import { LARGEST_BODY_BYTES, type ResponseReservation } from '../http/memory-budget.ts'

/** Of OpenAI's service on 2026-11-29, for one connection. */
export const MOST_NAMED_STREAMS = 32
/** No request could continue a longer conversation. */
const MOST_BYTES = LARGEST_BODY_BYTES

interface Kept extends Ended {
  bytes: number
}

export class KeptResponses {
  readonly #memory: ResponseReservation
  /** By stream, the oldest first. Undefined: the requests that name none. */
  readonly #kept = new Map<string | undefined, Kept>()
  readonly #named = new Set<string>()
  #bytes = 0

  constructor(memory: ResponseReservation) {
    this.#memory = memory
  }

  /** False: the connection has had its number of names. */
  admits(streamId: string | undefined): boolean {
    if (streamId === undefined || this.#named.has(streamId)) return true
    if (this.#named.size >= MOST_NAMED_STREAMS) return false
    this.#named.add(streamId)
    return true
  }

  find(responseId: string): Items | null {
    return this.#kept.values().find(({ id }) => id === responseId)?.items ?? null
  }

  /** In place of its stream's former one. Nothing is kept that finds no memory. */
  keep(streamId: string | undefined, ended: Ended): void {
    this.#drop(streamId)
    const bytes = bytesOf(ended.items)
    if (bytes > MOST_BYTES) return
    for (const older of this.#kept.keys()) {
      if (this.#bytes + bytes <= MOST_BYTES) break
      this.#drop(older)
    }
    if (!this.#memory.reserve(bytes)) return this.#memory.release(bytes)
    this.#kept.set(streamId, { ...ended, bytes })
    this.#bytes += bytes
  }

  /** A client that failed to continue a response has to begin again, as in OpenAI's service. */
  forget(responseId: string): void {
    for (const [streamId, { id }] of this.#kept) if (id === responseId) this.#drop(streamId)
  }

  clear(): void {
    for (const streamId of this.#kept.keys()) this.#drop(streamId)
  }

  #drop(streamId: string | undefined): void {
    const kept = this.#kept.get(streamId)
    if (kept === undefined) return
    this.#kept.delete(streamId)
    this.#bytes -= kept.bytes
    this.#memory.release(kept.bytes)
  }
}
