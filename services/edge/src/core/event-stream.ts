/**
 * The events that the edge adds to a backend's stream: a dialect's signs of life, its end, and a failure after the beginning.
 * The edge knows the event that ends a stream, so that it can hold that event back until the usage is stored.
 */

import { type GatewayError, messagesErrorBody } from '@gateway/contracts/errors'
import type { ClientDialect } from '@gateway/contracts/vendors'

interface StreamForm {
  keepAlive: string
  /** The bytes behind the last event of a response that has ended well. */
  done: string
  /** Notes complete events that were sent: the text of a failure may depend on them. */
  note?(events: Uint8Array): void
  /** The events that end a stream which broke. They never look like a good end. */
  failure(error: GatewayError): string
}

const COMMENT = ': keep-alive\n\n'
const PING = 'event: ping\ndata: {"type": "ping"}\n\n'

const DONE = 'data: [DONE]\n\n'

const CHAT: StreamForm = { keepAlive: COMMENT, done: DONE, failure: chatFailure }
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
 *
 * Open Responses (specification 2026-04-24) ends a stream with `[DONE]`, which OpenAI's service does not send. OpenAI's SDKs
 * for Node (7.55) and Python end there, and Codex ignores events that are no JSON (2026-11-29). A failure has no `[DONE]`:
 * clients take it for a good end.
 */
function responsesForm(): StreamForm {
  let created: Buffer | null = null
  let nextNumber = 0
  return {
    keepAlive: COMMENT,
    done: DONE,
    note(events) {
      const bytes = asBuffer(events)
      created ??= firstEventOf(bytes)
      nextNumber = lastNumberIn(bytes) + 1 || nextNumber
    },
    failure(error) {
      const response = created && responseIn(created)
      return response ? failedResponse(response, nextNumber, error) : streamError(nextNumber, error)
    },
  }
}

function failedResponse(response: object, sequence: number, { message, code }: GatewayError): string {
  const failed = { ...response, status: 'failed', error: { code, message } }
  return eventOf('response.failed', { type: 'response.failed', sequence_number: sequence, response: failed })
}

/** OpenAI's types have the error's members in the event itself; Open Responses and OpenAI's service nest them. */
function streamError(sequence: number, { message, code }: GatewayError): string {
  const said = { code, message, param: null }
  const error = { type: 'server_error', ...said }
  return eventOf('error', { type: 'error', sequence_number: sequence, ...said, error })
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

/** The events that end a good stream, by their names. Chat's `[DONE]` is the edge's own to write. */
const TERMINAL: Record<ClientDialect, readonly string[]> = {
  chat: [],
  messages: ['message_stop'],
  responses: ['response.completed', 'response.incomplete'],
}

/**
 * Returns a function that is true where the event at `lastAt`, the last of complete events, ends a good stream. Undefined: no
 * event of the dialect ends one. The router writes the name of such an event in its first line.
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
