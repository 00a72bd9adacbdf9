/**
 * One answer for everyone who asked for it with the same `Idempotency-Key`: the client whose request runs, and those that
 * came later, each of whom gets it from its beginning and then as it comes.
 *
 * It runs on when its clients leave, because the next attempt will ask for it. That ends at the size above which it cannot
 * be kept, or where the process has no room for it: from there on nobody can join, the slowest reader sets the pace, and
 * when the last one leaves it is stopped.
 */

import type { GatewayError } from '@gateway/contracts/errors'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import { type Client, type Headers, NO_SOURCE, type Reader } from '../relay/client-writer.ts'
import { NOTHING_COUNTED, type ResponseReservation } from '../http/memory-budget.ts'

/** Larger answers are not kept. */
export const MAX_KEPT_BYTES = 1024 * 1024

interface Head {
  contentType: string
  headers: Headers
}

/** An answer that has come to its end, as the store keeps it. */
export interface CompleteResponse extends Head {
  pieces: readonly Uint8Array[]
  usage: UsageEvent
}

export interface SharedResponse {
  /** The relay writes the request's own answer to it. */
  readonly client: Client
  /** Gives the answer to one more reader. False: too much of it has passed already. */
  join(reader: Reader): boolean
  /** The request failed before its answer began. Resolves when all are told. */
  fail(error: GatewayError): Promise<void>
  /** Stops the request: another edge has taken it over. */
  stop(error: GatewayError): void
  /** Nobody will join any more: what was held for them is free. */
  close(): void
}

type End = { headers: Headers } | { error: GatewayError }

interface ResponseStore {
  /** False: another request has the key by now. */
  keep(response: CompleteResponse): Promise<boolean>
  /** Its usage is stored. */
  metered(): void
  /** Nothing will be kept: the key is anyone's again. Never rejects. */
  free(): Promise<void>
}

export function shareResponse(
  responseStore: ResponseStore,
  hold: ResponseReservation = NOTHING_COUNTED,
): SharedResponse {
  const readers = new Map<Reader, { taken: number }>()
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  /** The request that runs. */
  let source = NO_SOURCE
  const pieces: Uint8Array[] = []
  let bytes = 0
  let head: Head | null = null
  let end: End | null = null
  let passedOn = 0
  let heldBytes = 0
  let hasCapacity = true
  const isKeepable = (): boolean => hasCapacity && bytes <= MAX_KEPT_BYTES

  function holdPiece(piece: Uint8Array): void {
    pieces.push(piece)
    heldBytes += piece.byteLength
    hasCapacity = hold.owe(piece.byteLength)
  }

  function dropPieces(): void {
    pieces.length = 0
    if (heldBytes > 0) hold.paid(heldBytes)
    heldBytes = 0
  }

  /** What is held here counts as taken; beyond that, what the slowest reader has taken. */
  function passOn(): void {
    const slowest = Math.min(bytes, ...Array.from(readers.values(), ({ taken }) => taken))
    const due = Math.min(bytes, Math.max(MAX_KEPT_BYTES, slowest))
    if (due <= passedOn) return
    const more = due - passedOn
    passedOn = due
    source.consumed(more)
  }

  function reportEnd(reader: Reader, how: End): void {
    if ('error' in how) reader.fail(how.error)
    else reader.finish(() => how.headers)
  }

  function conclude(how: End): void {
    if (end) return
    end = how
    for (const reader of readers.keys()) reportEnd(reader, how)
    readers.clear()
    resolve()
  }

  /** Freed before it is told: whoever is refused may ask again under the same key at once, also for something else. */
  async function fail(error: GatewayError): Promise<void> {
    await responseStore.free()
    conclude({ error })
  }

  function leave(reader: Reader): void {
    if (readers.delete(reader) && !end) goOn()
  }

  /** The request runs on for those who read, and for those who may still ask. */
  function goOn(): void {
    if (readers.size > 0 || isKeepable()) return passOn()
    source.left()
    resolve()
  }

  function giveHead(reader: Reader, { contentType, headers }: Head): void {
    reader.begin(contentType, () => headers)
  }

  const client: Client = {
    ended,
    isOver: () => end !== null,
    listen(next) {
      source = next
    },
    begin(contentType, headersNow) {
      if (head) return
      head = { contentType, headers: headersNow() }
      for (const reader of readers.keys()) giveHead(reader, head)
    },
    write(arrived) {
      bytes += arrived.byteLength
      // A copy: the bytes may lie in a message that carries much else.
      const piece = isKeepable() ? Buffer.from(arrived) : arrived
      if (isKeepable()) holdPiece(piece)
      if (!isKeepable()) dropPieces()
      for (const reader of readers.keys()) reader.write(piece)
      goOn()
    },
    // Each written byte has gone to the readers.
    restart: () => bytes === 0,
    async keep(usage, rest) {
      if (!head || !isKeepable() || bytes + rest.byteLength > MAX_KEPT_BYTES) return true
      return responseStore.keep({ ...head, pieces: [...pieces, rest], usage })
    },
    finish(headersNow) {
      responseStore.metered()
      conclude({ headers: headersNow() })
    },
    fail: (error) => void fail(error),
  }

  return {
    client,

    join(reader) {
      if (!isKeepable()) return false
      const progress = { taken: 0 }
      readers.set(reader, progress)
      reader.listen({
        consumed(more) {
          progress.taken += more
          passOn()
        },
        left: () => leave(reader),
        headersOnSilence: () => source.headersOnSilence(),
      })
      if (head) giveHead(reader, head)
      for (const piece of pieces) reader.write(piece)
      if (end) {
        readers.delete(reader)
        reportEnd(reader, end)
      }
      return true
    },

    fail,

    stop(error) {
      source.left('edge_lost')
      conclude({ error })
    },

    close: dropPieces,
  }
}
