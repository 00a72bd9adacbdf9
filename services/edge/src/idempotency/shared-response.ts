/**
 * One response for all requests with the same `Idempotency-Key`. Its readers are the client whose request runs, and those
 * that came later. Each gets it from its beginning and then as it comes.
 *
 * It runs on when its clients leave, because the next attempt will request it. That ends at the size above which it cannot be
 * kept, or where the process has no memory for it. From there on nobody can join, and the slowest reader sets the pace. When
 * the last reader leaves, it is stopped.
 */

import type { GatewayError } from '@gateway/contracts/errors'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import { type Client, type Headers, NO_SOURCE, type Reader } from '../relay/client-writer.ts'
import { NOTHING_COUNTED, type ResponseReservation } from '../http/memory-budget.ts'

/** Larger responses are not kept. */
export const MAX_KEPT_BYTES = 1024 * 1024

interface Head {
  contentType: string
  headers: Headers
}

/** A response that has come to its end, as the store keeps it. */
export interface CompleteResponse extends Head {
  pieces: readonly Uint8Array[]
  usage: UsageEvent
}

export interface SharedResponse {
  /** The relay writes the request's own response to it. */
  readonly client: Client
  /** Serves the response to one more reader. False: too much of it has passed already. */
  join(reader: Reader): boolean
  /** The request failed before its response began. Resolves when all readers have the error. */
  fail(error: GatewayError): Promise<void>
  /** Stops the request: another edge has taken it over. A complete response ends as its charge says. */
  stop(error: GatewayError): void
  /** Nobody will join any more: this frees the bytes that were held for later readers. */
  close(): void
}

type End = { headers: Headers } | { error: GatewayError }

interface ResponseStore {
  /** False: another request has the key by now. */
  keep(response: CompleteResponse): Promise<boolean>
  /** False: another request has the key by now. */
  owns(): Promise<boolean>
  /** Its usage is stored. */
  metered(): void
  /** Nothing will be kept: the key is anyone's again. Never rejects. */
  free(): Promise<void>
}

export function shareResponse(
  responseStore: ResponseStore,
  reservation: ResponseReservation = NOTHING_COUNTED,
): SharedResponse {
  const readers = new Map<Reader, { taken: number }>()
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  /** The request that runs. */
  let source = NO_SOURCE
  const pieces: Uint8Array[] = []
  let bytes = 0
  let head: Head | null = null
  let end: End | null = null
  /** The reply of `keep` decides whether the request is charged as delivered. */
  let isComplete = false
  let passedOn = 0
  let heldBytes = 0
  let hasCapacity = true
  const isKeepable = (): boolean => hasCapacity && bytes <= MAX_KEPT_BYTES

  function holdPiece(piece: Uint8Array): void {
    pieces.push(piece)
    heldBytes += piece.byteLength
    hasCapacity = reservation.reserve(piece.byteLength)
  }

  function dropPieces(): void {
    pieces.length = 0
    if (heldBytes > 0) reservation.release(heldBytes)
    heldBytes = 0
  }

  /** Bytes that are held here count as taken; beyond them the slowest reader counts. */
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

  /** The key is freed before the error is sent. A refused client may use it again at once, also for another question. */
  async function fail(error: GatewayError): Promise<void> {
    await responseStore.free()
    conclude({ error })
  }

  function leave(reader: Reader): void {
    if (readers.delete(reader) && !end) goOn()
  }

  /** The request runs on for those who read, and for those who may still join. */
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
    async keep(usage, rest, late) {
      // The readers know already that another edge has the request.
      if (end) return false
      isComplete = true
      if (!head || !isKeepable() || bytes + rest.byteLength > MAX_KEPT_BYTES) return responseStore.owns()
      const headers = { ...head.headers, ...late }
      return responseStore.keep({ ...head, headers, pieces: [...pieces, rest], usage })
    },
    owns: () => responseStore.owns(),
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
      if (isComplete) return
      source.left('edge_lost')
      conclude({ error })
    },

    close: dropPieces,
  }
}
