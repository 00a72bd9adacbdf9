/**
 * Completes the responses of a server of the Responses API. The id is of the API's kind, no member that the API promises is
 * missing, and each event has its name and its number. Bytes without a gap stay as they came.
 *
 * A coding tool's events repeat its tools, so they are walked and not parsed.
 */

import { parseExactly, type JsonObject, isObject } from '@gateway/contracts/json'
import type { SseEvent } from '@gateway/sse/parse-events'
import type { Identity } from '../../core/complete-response.ts'
import { memberAt, skipValue } from '../../core/json-members.ts'
import { isResponseId, responseId } from '../../core/response-id.ts'
import { completedAt } from '../responses-to-chat/response.ts'
import { settingsOf } from '../responses-to-chat/settings.ts'
import { completePart, completeResponse } from './gaps.ts'

/** Called where a response has gaps: a request may hold megabytes, and most servers leave no gap. */
export type ReadRequest = () => JsonObject

/** Other servers of the API than OpenAI's have ids of their own kind. */
export function ownId(reported: unknown, { id }: Identity): string {
  return responseId('responses', typeof reported === 'string' && reported !== '' ? reported : id)
}

/** All members of a response that its server may leave out. */
export function membersFor(readRequest: ReadRequest, identity: Identity, status: string): JsonObject {
  return {
    object: 'response',
    created_at: identity.created,
    completed_at: status === 'completed' ? completedAt(identity) : null,
    status,
    error: null,
    incomplete_details: null,
    model: identity.model,
    output: [],
    usage: null,
    ...settingsOf(readRequest()),
  }
}

/** Returns null where the plain response has no gaps. */
export function completePlain(
  text: string,
  status: string,
  identity: Identity,
  readRequest: ReadRequest,
): string | null {
  let members: JsonObject | undefined
  return completeResponse(text, text.indexOf('{'), (name) => {
    members ??= membersFor(readRequest, identity, status)
    return members[name]
  })
}

/** The events that hold a whole response, and its status. */
const STATUSES: ReadonlyMap<unknown, string> = new Map([
  ['response.created', 'in_progress'],
  ['response.queued', 'queued'],
  ['response.in_progress', 'in_progress'],
  ['response.completed', 'completed'],
  ['response.incomplete', 'incomplete'],
  ['response.failed', 'failed'],
])

const NUMBER = '"sequence_number":'

/** The events of one stream, in their order. */
export class EventCompleter {
  #identity: Identity
  #readRequest: ReadRequest
  /** Undefined before the first event: a server numbers all of its events, or none. */
  #isNumbered: boolean | undefined
  #sequence = 0

  constructor(identity: Identity, readRequest: ReadRequest) {
    this.#identity = identity
    this.#readRequest = readRequest
  }

  complete(sent: SseEvent): SseEvent {
    const { data } = sent
    if (data === '[DONE]') return sent
    const name = sent.name ?? typeOf(data)
    const written = this.#numbered(this.#completed(name, data))
    return written === data && name === sent.name ? sent : { ...sent, name, data: written, raw: rawOf(name, written) }
  }

  #completed(name: string | null, data: string): string {
    const status = STATUSES.get(name)
    if (status === undefined) return completePart(name, data) ?? data
    const named = this.#withOwnId(data)
    const at = memberAt(named, named.indexOf('{'), 'response')
    let members: JsonObject | undefined
    const complete = completeResponse(named, at, (member) => {
      members ??= membersFor(this.#readRequest, this.#identity, status)
      return members[member]
    })
    return complete ?? named
  }

  /** Nearly all servers write the id first. */
  #withOwnId(data: string): string {
    if (data.includes('"response":{"id":"resp_')) return data
    const event = readEvent(data)
    if (event === null || !isObject(event.response) || isResponseId('responses', event.response.id)) return data
    return JSON.stringify({ ...event, response: { ...event.response, id: ownId(event.response.id, this.#identity) } })
  }

  #numbered(data: string): string {
    this.#isNumbered ??= data.includes(NUMBER)
    if (this.#isNumbered) return data
    const end = data.lastIndexOf('}')
    return end < 0 ? data : `${data.slice(0, end)},${NUMBER}${this.#sequence++}${data.slice(end)}`
  }
}

/** Null where it is no JSON object, which others judge. */
function readEvent(data: string): JsonObject | null {
  try {
    const event: unknown = parseExactly(data)
    return isObject(event) ? event : null
  } catch {
    return null
  }
}

/** The type of an event without a name. Types hold no character that JSON would escape. */
function typeOf(data: string): string | null {
  const at = memberAt(data, data.indexOf('{'), 'type')
  return data[at] === '"' ? data.slice(at + 1, skipValue(data, at) - 1) : null
}

/** JSON may have its lines: each is one of the event's. */
function rawOf(name: string | null, data: string): Buffer {
  const lines = data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data
  return Buffer.from(`${name === null ? '' : `event: ${name}\n`}data: ${lines}\n\n`)
}
