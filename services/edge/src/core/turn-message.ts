/**
 * A message of a WebSocket as a request to `POST /v1/responses`, and the conversation that a later message may continue.
 *
 * A `response.create` has the members of that request's body, and some of its own: `type`, `stream_id`, `generate`, and
 * `previous_response_id`. Here the conversation so far goes in front of its input, text by text. The request's own reader
 * judges everything else, so a fault in the rest has the same words over HTTP.
 */

import { GatewayError } from '@gateway/contracts/errors'
import { elementSpans, listContent, memberSpans, type Span } from './json-spans.ts'

/** Items of a conversation, each piece the JSON of some of them, separated by commas. */
export type Items = readonly Buffer[]

export interface TurnMessage {
  kind: 'create'
  streamId: string | undefined
  previousId: string | null
  /** False: the client wants the input kept, and no model to run. */
  generates: boolean
  /** The members that the request's reader gets, but for the input. */
  members: { name: string; value: Buffer }[]
  /** The input's JSON. */
  input: Buffer | null
}

export type ReadMessage =
  | TurnMessage
  /** The client reports something that needs no response. */
  | { kind: 'ignored' }
  /** No object: the request's reader says so. */
  | { kind: 'unread' }
  | { kind: 'fault'; streamId: string | undefined; error: GatewayError }

const CREATE = 'response.create'
/** Codex sends it after a response where its service wants that (openai/codex, 2026-11-29). */
const PROCESSED = 'response.processed'

/** OpenAI's rule for names of streams (developers.openai.com, WebSocket mode, 2026-11-29). */
const STREAM_ID = /^[\w.-]{1,256}$/

/** Members that a message has for itself. `stream` says nothing here: each response is a stream. */
const OWN = new Set(['type', 'stream_id', 'generate', 'stream', 'input'])

export function readMessage(bytes: Buffer): ReadMessage {
  const spans = memberSpans(bytes)
  if (spans === null) return { kind: 'unread' }
  const plain = (name: string): unknown => plainValue(bytes, spans.get(name))
  const type = plain('type')
  if (type === PROCESSED) return { kind: 'ignored' }
  const streamId = plain('stream_id') ?? undefined
  if (streamId !== undefined && !isStreamId(streamId)) {
    return fault(
      undefined,
      'invalid_stream_id',
      'stream_id',
      'must be 1 to 256 letters, digits or the characters _ . -',
    )
  }
  if (type !== CREATE) return fault(streamId, 'invalid_request_error', 'type', `must be ${CREATE}`)
  const previousId = plain('previous_response_id') ?? null
  const input = spans.get('input')
  return {
    kind: 'create',
    streamId,
    // Another value stays among the members, and their reader refuses it.
    previousId: typeof previousId === 'string' ? previousId : null,
    generates: plain('generate') !== false,
    members: [...spans]
      .filter(([name]) => !OWN.has(name) && (name !== 'previous_response_id' || isOther(previousId)))
      .map(([name, { start, end }]) => ({ name, value: bytes.subarray(start, end) })),
    input: input === undefined ? null : bytes.subarray(input.start, input.end),
  }
}

function isStreamId(value: unknown): value is string {
  return typeof value === 'string' && STREAM_ID.test(value)
}

function isOther(previousId: unknown): boolean {
  return previousId !== null && typeof previousId !== 'string'
}

/** Long values are none of a message's own. */
const LONGEST_PLAIN = 1_024

function plainValue(bytes: Buffer, span: Span | undefined): unknown {
  if (span === undefined) return undefined
  const { start, end } = span
  if (end - start > LONGEST_PLAIN) return bytes.subarray(start, end)
  try {
    return JSON.parse(bytes.toString('utf8', start, end))
  } catch {
    return bytes.subarray(start, end)
  }
}

function fault(streamId: string | undefined, code: string, param: string, complaint: string): ReadMessage {
  return { kind: 'fault', streamId, error: turnFault(code, param, `${param}: ${complaint}`) }
}

/** A fault of a message, in the words of OpenAI's service. */
export function turnFault(code: string, param: string | null, message: string): GatewayError {
  const refusal = { code, type: 'invalid_request_error', param }
  return new GatewayError('VALIDATION_ERROR', message, { refusal })
}

export interface Composed {
  body: Buffer
  /** The conversation up to this request's response. */
  items: Items
}

/** The request's body. `before`: the conversation that it continues. */
export function composeBody(message: TurnMessage, before: Items): Composed {
  const added = itemsIn(message.input)
  const items = added === null ? before : [...before, ...added]
  const pieces: Buffer[] = [Buffer.from('{"stream":true')]
  for (const { name, value } of message.members) pieces.push(Buffer.from(`,${JSON.stringify(name)}:`), value)
  const input = added === null ? message.input : inputOf(message, before, items)
  if (input !== null) pieces.push(Buffer.from(',"input":'), input)
  pieces.push(Buffer.from('}'))
  return { body: Buffer.concat(pieces), items }
}

/** Null: the message names none. */
function inputOf({ input, generates }: TurnMessage, before: Items, items: Items): Buffer | null {
  // A client may have nothing kept, with which no model could run. An empty text stands in for it.
  if (items.length === 0) return generates ? input : Buffer.from('""')
  if (before.length === 0) return input
  return Buffer.concat([Buffer.from('['), ...separated(items), Buffer.from(']')])
}

function separated(items: Items): Buffer[] {
  return items.flatMap((piece, index) => (index === 0 ? [piece] : [SEPARATOR, piece]))
}

const SEPARATOR = Buffer.from(',')

/** A text is a message of the user. Null: the request's reader refuses the input. */
function itemsIn(input: Buffer | null): Items | null {
  if (input === null || input.equals(NULL)) return []
  if (input[0] === QUOTE) {
    return [Buffer.concat([Buffer.from('{"type":"message","role":"user","content":'), input, Buffer.from('}')])]
  }
  const list = listContent(input, { start: 0, end: input.length })
  if (list === null) return null
  return list.end === list.start ? [] : [ownCopy(input, list)]
}

const QUOTE = 0x22
const NULL = Buffer.from('null')

/** A message's bytes may be part of a larger piece of memory. */
function ownCopy(bytes: Buffer, { start, end }: Span): Buffer {
  const copy = Buffer.allocUnsafeSlow(end - start)
  bytes.copy(copy, 0, start, end)
  return copy
}

export interface Ended {
  id: string
  items: Items
}

/**
 * The conversation with the response that ends in this event; null where the event holds none. A `compaction` item stands for
 * all before it.
 */
export function continued(event: Buffer, before: Items): Ended | null {
  const response = memberSpans(event)?.get('response')
  const members = response && memberSpans(event, response)
  const id = members && plainValue(event, members.get('id'))
  const output = members?.get('output')
  const elements = output && elementSpans(event, output)
  if (typeof id !== 'string' || !elements) return null
  const compacted = elements.findLastIndex((element) => typeOf(event, element) === 'compaction')
  const kept = compacted < 0 ? elements : elements.slice(compacted)
  if (kept.length === 0) return { id, items: before }
  const said = ownCopy(event, { start: kept[0]!.start, end: kept.at(-1)!.end })
  return { id, items: compacted < 0 ? [...before, said] : [said] }
}

function typeOf(bytes: Buffer, element: Span): unknown {
  return plainValue(bytes, memberSpans(bytes, element)?.get('type'))
}

export function bytesOf(items: Items): number {
  return items.reduce((sum, { length }) => sum + length, 0)
}
