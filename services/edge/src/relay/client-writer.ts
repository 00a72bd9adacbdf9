/**
 * The reader of a response. It is an HTTP client of this edge (`http-client.ts`), or another edge on behalf of a client of
 * its own (`running-responses.ts`). Or it stands for all who share a response (`shared-response.ts`). A reader reads until
 * its response ends or it leaves, whichever comes first. Later ends do nothing.
 *
 * A window passes a response's bytes on to its reader. A JSON response passes as it comes. A stream passes in complete
 * events, and the window counts them. It holds back the terminal event of dialects that have one: nobody may see a good end
 * before the usage is stored. Held bytes count as the process' memory.
 */

import type { GatewayError } from '@gateway/contracts/errors'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { completeEvents, findEvents } from '@gateway/sse/complete-events'
import { terminalEventOf } from '../core/event-stream.ts'
import { SPARED_BYTES, type ResponseReservation } from '../http/memory-budget.ts'

export type Headers = Record<string, string>
export type Consumed = (bytes: number) => void

export interface Reader {
  /** The reader reports to this source from now on. */
  listen(source: Source): void
  /** `headers` is called when they are sent. */
  begin(contentType: string, headers: () => Headers): void
  write(bytes: Uint8Array): void
  /** `headers` replace those of `begin` where none has been sent yet. */
  finish(headers: () => Headers): void
  fail(error: GatewayError): void
}

export interface Source {
  /** The reader has taken so many more bytes. */
  consumed(bytes: number): void
  /** The reader wants nothing any more, or another edge has taken the request over. */
  left(why?: 'client_gone' | 'edge_lost'): void
  /** The source has been silent for so long that headers have to be sent. */
  headersOnSilence(): Headers
}

/** The client of a request that runs. */
export interface Client extends Reader {
  /**
   * Resolves when the response has ended or the client has left. Rejects with the error to send while nothing has been sent.
   */
  readonly ended: Promise<void>
  isOver(): boolean
  /** The bytes that the client gets of an event, where they are others than those of `write`. */
  readonly shownOf?: ((event: Buffer) => Buffer) | undefined
  /** Forgets the response so far, so that another router's can take its place. False: the client has some of it. */
  restart(): boolean
  /**
   * Makes the complete response one that can be given again, before its usage is stored. Only some are. `rest`: the bytes
   * that are not written yet, and headers that were not known at the beginning. False: another edge has taken the request over,
   * and this response is nobody's.
   */
  keep?(usage: UsageEvent, rest: Uint8Array, headers: Headers): Promise<boolean>
  /** False: another edge has taken the request over while this process stood still. Only some may lose it. */
  owns?(): Promise<boolean>
}

/** The source of a client that still waits for one. */
export const NO_SOURCE: Source = { consumed() {}, left() {}, headersOnSilence: () => ({}) }

export interface ResponseWindow {
  pass(bytes: Uint8Array): void
  /** The client has left: counts the events and writes nothing. */
  note(bytes: Uint8Array): void
  /** The bytes that have come and are not written, of a response that has ended in good order. */
  rest(): Uint8Array
  /** The client has taken bytes that were written. */
  readonly taken: Consumed
  /** Whole events so far. */
  readonly events: number
  /** The response is over: nothing is held any more. */
  close(): void
}

interface ResponseWindowEnds {
  reader: Pick<Reader, 'write'>
  /** Reports to the router how many bytes the client has taken. */
  consumed: Consumed
  /** Counts the bytes that the window holds. */
  reservation: ResponseReservation
  /** There is no memory for them. */
  onOutOfMemory(): void
}

/** `dialect`: a stream's; null where the response is JSON. */
export function openResponseWindow(dialect: ClientDialect | null, ends: ResponseWindowEnds): ResponseWindow {
  return dialect ? passEvents(dialect, ends) : passBytes(ends)
}

function passBytes({ reader, consumed }: ResponseWindowEnds): ResponseWindow {
  return {
    close() {},
    pass: (bytes) => reader.write(bytes),
    note() {},
    rest: () => NOTHING,
    taken: consumed,
    events: 0,
  }
}

const NOTHING = new Uint8Array(0)

function passEvents(
  dialect: ClientDialect,
  { reader, consumed, reservation, onOutOfMemory }: ResponseWindowEnds,
): ResponseWindow {
  const splitter = completeEvents()
  const isTerminal = terminalEventOf(dialect)
  /** From the terminal event on. */
  const ending: Uint8Array[] = []
  let events = 0
  /** Where the last event begins in the whole events that came last. */
  let lastAt = 0
  /** Bytes that were reported as consumed while they waited for the end of their event, which else might never come. */
  let reportedAhead = 0
  let heldBytes = 0

  /** Small ones are spared, as those are that wait for a slow client. */
  function holdMore(bytes: number): void {
    heldBytes += bytes
    if (bytes < 0) reservation.release(-bytes)
    else if (bytes > 0 && !reservation.reserve(bytes) && heldBytes > SPARED_BYTES) onOutOfMemory()
  }

  function take(bytes: Uint8Array): Uint8Array {
    const taken = splitter.push(bytes)
    if (taken.length === 0) return taken
    const found = findEvents(taken)
    events += found.count
    lastAt = found.lastAt
    return taken
  }

  /** The part of whole events that may pass before the usage is stored. */
  function holdEnding(ready: Uint8Array): Uint8Array {
    if (!isTerminal || ready.length === 0) return ready
    const begin = ending.length > 0 ? 0 : isTerminal(ready, lastAt) ? lastAt : ready.length
    if (begin < ready.length) ending.push(ready.subarray(begin))
    return ready.subarray(0, begin)
  }

  return {
    pass(bytes) {
      const ready = holdEnding(take(bytes))
      const held = bytes.length - ready.length
      if (held > 0) {
        reportedAhead += held
        consumed(held)
      }
      if (ready.length > 0) reader.write(ready)
      holdMore(held)
    },
    note: (bytes) => void take(bytes),
    close: () => holdMore(-heldBytes),
    rest: () => Buffer.concat([...ending, splitter.end()]),
    taken(bytes) {
      const unreported = Math.max(0, bytes - reportedAhead)
      reportedAhead -= bytes - unreported
      consumed(unreported)
    },
    get events() {
      return events
    },
  }
}
