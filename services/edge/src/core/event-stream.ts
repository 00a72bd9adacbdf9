/**
 * An answer as a stream of server-sent events.
 *
 * The edge passes it on in whole events, however the bus cut it: what breaks off an answer, or keeps its connection alive, then
 * never stands inside an event. It holds one unfinished event at most, which the router bounds. Nothing is added, left out or
 * moved.
 *
 * Beside the backend's own events the edge writes a dialect's life signs, its end, and a failure after the beginning. It
 * knows which event ends a stream, so that it can hold that back until the usage is stored.
 */

import { type GatewayError, messagesErrorBody } from '@gateway/contracts/errors'
import type { ClientDialect } from '@gateway/contracts/vendors'

const LF = 0x0a
const CR = 0x0d
const EMPTY_LINE = Buffer.from('\n\n')
const NOTHING = new Uint8Array(0)

interface CompleteEvents {
  /** The part of the stream that ends with a whole event and has not been passed on yet; often all of `bytes`, often a view. */
  push(bytes: Uint8Array): Uint8Array
  /** The stream has ended in good order: the bytes that are still held. */
  end(): Uint8Array
}

export function completeEvents(): CompleteEvents {
  let held: Uint8Array[] = []
  let lineIsEmpty = true
  let afterCr = false
  /** The CR before ended an event, and the LF that may follow is its last byte. */
  let crEndedEvent = false

  /** Where in these bytes the last event ends; 0 where none does. */
  function endOfLastEvent(bytes: Uint8Array): number {
    if (bytes.length > 0 && !afterCr && !bytes.includes(CR)) return endByLineFeeds(bytes)
    let end = 0
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]
      if (byte === LF && afterCr) {
        afterCr = false
        if (crEndedEvent) end = i + 1
      } else if (byte === LF || byte === CR) {
        if (lineIsEmpty) end = i + 1
        afterCr = byte === CR
        crEndedEvent = lineIsEmpty
        lineIsEmpty = true
      } else {
        lineIsEmpty = false
        afterCr = false
      }
    }
    return end
  }

  /** Large events come in many pieces, of which each byte would be looked at. */
  function endByLineFeeds(bytes: Uint8Array): number {
    const pair = asBuffer(bytes).lastIndexOf(EMPTY_LINE)
    const opening = lineIsEmpty && bytes[0] === LF ? 1 : 0
    lineIsEmpty = bytes[bytes.length - 1] === LF
    return pair < 0 ? opening : pair + EMPTY_LINE.length
  }

  function take(last: Uint8Array): Uint8Array {
    if (held.length === 0) return last
    const whole = Buffer.concat([...held, last])
    held = []
    return whole
  }

  return {
    push(bytes) {
      if (held.length === 0 && endsWithEmptyLine(bytes)) {
        lineIsEmpty = true
        afterCr = false
        return bytes
      }
      const end = endOfLastEvent(bytes)
      const whole = end === 0 ? NOTHING : take(bytes.subarray(0, end))
      if (end < bytes.length) held.push(bytes.subarray(end))
      return whole
    },
    end: () => take(NOTHING),
  }
}

/** The usual end of an event, and of nearly every frame. */
function endsWithEmptyLine(bytes: Uint8Array): boolean {
  return bytes[bytes.length - 1] === LF && bytes[bytes.length - 2] === LF
}

/** How many events a piece holds that `completeEvents` passed on, and where the last of them begins. */
export function findEvents(bytes: Uint8Array): { count: number; lastAt: number } {
  let count = 0
  let lastAt = 0
  let nextAt = 0
  let from = bytes.indexOf(LF)
  while (from !== -1 && from + 1 < bytes.length) {
    const next = bytes[from + 1]
    const isCrLf = next === CR && bytes[from + 2] === LF
    if (next === LF || isCrLf) {
      count++
      lastAt = nextAt
      nextAt = from + (isCrLf ? 3 : 2)
    }
    from = bytes.indexOf(LF, from + 2)
  }
  return { count, lastAt }
}

interface StreamForm {
  keepAlive: string
  /** The bytes behind the last event of an answer that has ended well. */
  done: string
  /** Whole events were sent: what a failure says may depend on them. */
  note?(events: Uint8Array): void
  /** The events that end a stream which broke. They never look like a good end. */
  failure(error: GatewayError): string
}

const COMMENT = ': keep-alive\n\n'
const PING = 'event: ping\ndata: {"type": "ping"}\n\n'

const CHAT: StreamForm = { keepAlive: COMMENT, done: 'data: [DONE]\n\n', failure: chatFailure }
const messagesForm = (requestId: string): StreamForm => ({
  keepAlive: PING,
  done: '',
  failure: (error) => eventOf('error', messagesErrorBody(error, undefined, requestId)),
})
const FORMS: Record<ClientDialect, (requestId: string) => StreamForm> = {
  chat: () => CHAT,
  messages: messagesForm,
  responses: responsesForm,
}

/** One stream's. */
export function streamForm(dialect: ClientDialect, requestId: string): StreamForm {
  return FORMS[dialect](requestId)
}

function eventOf(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}

function chatFailure({ message, code }: GatewayError): string {
  return `data: ${JSON.stringify({ error: { message, type: 'server_error', code } })}\n\n`
}

/**
 * A failure is the response that the stream began with, failed, under the number after the last event's. Nothing is parsed
 * before there is one.
 */
function responsesForm(): StreamForm {
  let created: Buffer | null = null
  let nextNumber = 0
  return {
    keepAlive: COMMENT,
    done: '',
    note(events) {
      const bytes = asBuffer(events)
      created ??= firstEventOf(bytes)
      nextNumber = lastNumberIn(bytes) + 1 || nextNumber
    },
    failure({ message, code }) {
      const response = created && responseIn(created)
      if (!response) {
        return eventOf('error', { type: 'error', sequence_number: nextNumber, code, message, param: null })
      }
      const failed = { ...response, status: 'failed', error: { code, message } }
      return eventOf('response.failed', { type: 'response.failed', sequence_number: nextNumber, response: failed })
    },
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** A copy: the bytes lie in a message that carries much else. */
function firstEventOf(bytes: Buffer): Buffer {
  const end = bytes.indexOf('\n\n')
  return Buffer.from(end < 0 ? bytes : bytes.subarray(0, end))
}

const NUMBER = Buffer.from('"sequence_number":')
const SPACE = 0x20
const ZERO = 0x30
const NINE = 0x39

/** NaN where there is none. Within a text its quotes would be escaped. */
function lastNumberIn(bytes: Buffer): number {
  let at = bytes.lastIndexOf(NUMBER)
  if (at < 0) return NaN
  at += NUMBER.length
  while (bytes[at] === SPACE) at++
  let number = NaN
  for (; bytes[at]! >= ZERO && bytes[at]! <= NINE; at++) number = (number || 0) * 10 + bytes[at]! - ZERO
  return number
}

/** The response in an event; null where it is none. */
function responseIn(event: Buffer): object | null {
  const [, data = ''] = /^data:(.*)$/m.exec(event.toString()) ?? []
  try {
    const { response } = JSON.parse(data) as { response?: unknown }
    return typeof response === 'object' ? response : null
  } catch {
    return null
  }
}

/** The events that end a good stream, by their names. Chat's end is the edge's own to write. */
const TERMINAL: Record<ClientDialect, readonly string[]> = {
  chat: [],
  messages: ['message_stop'],
  responses: ['response.completed', 'response.incomplete'],
}

/**
 * Whether the event that begins at `lastAt`, the last of whole events, ends a good stream. Undefined: no event of the
 * dialect does. The router writes the name of such an event in its first line.
 */
export function terminalEventOf(dialect: ClientDialect): ((events: Uint8Array, lastAt: number) => boolean) | undefined {
  const lines = TERMINAL[dialect].map((name) => Buffer.from(`event: ${name}\n`))
  if (lines.length === 0) return undefined
  return (events, lastAt) => lines.some((line) => isAt(events, lastAt, line))
}

/** On the way of every event: most differ in an early byte. */
function isAt(bytes: Uint8Array, begin: number, line: Buffer): boolean {
  for (let at = 0; at < line.length; at++) if (bytes[begin + at] !== line[at]) return false
  return true
}
