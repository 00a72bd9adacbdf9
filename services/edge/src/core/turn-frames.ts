/**
 * The messages of a WebSocket for the events of a response, and for an error before its first event.
 *
 * An event is one message: its data. An error has OpenAI's envelope, with the status that it has over HTTP. Marks that only a
 * stream of events needs (comments, `[DONE]`) are no messages.
 */

import { ERROR_STATUS, isErrorCode } from '@gateway/contracts/errors'
import { isObject, type JsonObject, membersOf } from '@gateway/contracts/json'
import { memberSpans } from './json-spans.ts'

/** The end of a response: the client may continue it, or not. */
export type Ending = 'completed' | 'failed'

export interface Frame {
  text: string
  ending: Ending | null
}

const ENDINGS = new Map<string, Ending>([
  ['response.completed', 'completed'],
  ['response.incomplete', 'completed'],
  ['response.failed', 'failed'],
  ['error', 'failed'],
])

/** Of a request: members that its events carry, although no backend knows them. */
export interface TurnNames {
  streamId?: string | undefined
  previousId?: string | null | undefined
}

/** Null: a mark of the stream. */
export function frameOf(
  { name, data }: { name: string | null; data: string },
  { streamId, previousId }: TurnNames,
): Frame | null {
  if (data === '[DONE]' || data === '') return null
  const ending = ENDINGS.get(name ?? '') ?? null
  if (name === 'error') return { text: withStream(errorEvent(data), streamId), ending }
  const isOfResponse = previousId != null && name !== null && WITH_RESPONSE.has(name)
  return { text: withStream(isOfResponse ? withPrevious(data, previousId) : data, streamId), ending }
}

/** Events that hold the response. */
const WITH_RESPONSE = new Set([
  ...['response.created', 'response.in_progress', 'response.completed', 'response.incomplete', 'response.failed'],
])

/** The backend had the conversation in full, so its response continues none. */
function withPrevious(data: string, previousId: string): string {
  const bytes = Buffer.from(data)
  const response = memberSpans(bytes)?.get('response')
  const previous = response && memberSpans(bytes, response)?.get('previous_response_id')
  if (!previous) return data
  const [before, after] = [bytes.toString('utf8', 0, previous.start), bytes.toString('utf8', previous.end)]
  return `${before}${JSON.stringify(previousId)}${after}`
}

function withStream(json: string, streamId: string | undefined): string {
  if (streamId === undefined || !json.startsWith('{')) return json
  return `{"stream_id":${JSON.stringify(streamId)},${json.slice(1)}`
}

/** A stream's own event of an error names it flat, or as a target did. */
function errorEvent(data: string): string {
  const { error, code, message, param, ...event } = membersOf(parsed(data))
  const said: JsonObject = isObject(error) ? error : { code, message, param: param ?? null }
  const status = statusOf(said['code'])
  return JSON.stringify({ ...event, status, error: { type: typeOf(status), ...said } })
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return { type: 'error', message: data }
  }
}

function statusOf(code: unknown): number {
  return typeof code === 'string' && isErrorCode(code) ? ERROR_STATUS[code] : 500
}

function typeOf(status: number): string {
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}

/** An error that would be the whole response over HTTP. `headers`: those that say when to come back. */
export function errorFrame(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>>,
  streamId?: string,
): string {
  const { error } = membersOf(parsed(body))
  return withStream(JSON.stringify({ type: 'error', status, error, headers }), streamId)
}
