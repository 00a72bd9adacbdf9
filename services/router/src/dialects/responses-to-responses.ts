/**
 * The Responses API on both sides: bytes travel untouched, so that prompt caches, encrypted thoughts and tools of the vendor
 * survive. The router reads along for the begin, the end and the usage, and adds the members that a server leaves out.
 *
 * One thing is taken out: a thought that its vendor keeps no longer, since `store` is false, or that another model had. That model's
 * sealed state goes with it. A compaction that the gateway sealed becomes the text that it holds.
 */

import { parseExactly, type JsonObject, isObject, membersOf, wordOf } from '@gateway/contracts/json'
import type { TokenUsage } from '@gateway/contracts/usage'
import { BackendFault } from '../core/backend-fault.ts'
import { errorEvent, parseChunk, readUsage } from '../core/chat-chunk.ts'
import { callsMember, callsOfResponse, ItemCalls, type ToolCalls } from '../core/billed-beside.ts'
import { openState } from '../core/reasoning-state.ts'
import type { StateSeal } from '../core/state-seal.ts'
import { stripParameters } from '../core/strip-parameters.ts'
import { invalid, parseResponseBody, parseObject } from '../core/plain-response.ts'
import { isResponseId } from '../core/response-id.ts'
import type { SseEvent } from '@gateway/sse/parse-events'
import type { Identity } from '../core/complete-response.ts'
import {
  addText,
  noProgress,
  recordUsage,
  type Dialect,
  type PlainResponse,
  type ClientRequest,
  type StreamReading,
} from './dialect.ts'
import { chatToChat, prependMembers } from './chat-to-chat.ts'
import { withOpenedCompactions } from './compaction/open-items.ts'
import { withoutUnpriced } from './unpriced.ts'
import { PLAIN_POLICIES } from '../vendors/policies.ts'
import { generatedTextOf, withUsage } from './responses-to-chat/response.ts'
import { OWN_THOUGHT } from './responses-to-chat/output.ts'
import {
  completePlain,
  EventCompleter,
  membersFor,
  ownId,
  type ReadRequest,
} from './responses-to-responses/complete-events.ts'

export const responsesToResponses: Dialect = {
  headers: chatToChat.headers,
  request(clientRequest) {
    const priced = withoutUnpriced(clientRequest)
    const { body, dropped } = stripParameters(priced.body, clientRequest.policy ?? PLAIN_POLICIES.responses)
    const opened = withOpened(body, clientRequest.states)
    const echo: ReadRequest = () => parseExactly(clientRequest.body.toString('utf8')) as JsonObject
    return {
      path: '/responses',
      body: writeBody({ ...clientRequest, body: opened }),
      dropped: [...priced.dropped, ...dropped],
      echo,
    }
  },
  readBackendResponse: (_, bytes, identity, echo) => readResponse(bytes, identity, requestOf(echo)),
  textOf: generatedTextOf,
  withUsage: ({ bytes }, usage) => Buffer.from(JSON.stringify(withUsage(parseObject(bytes, parseExactly), usage))),
  readStream: ({ identity, echo }) => new ResponsesStream(identity, requestOf(echo)),
  readErrorBody: chatToChat.readErrorBody,
}

function requestOf(echo: unknown): ReadRequest {
  return typeof echo === 'function' ? (echo as ReadRequest) : () => ({})
}

function writeBody({ model, stream, maxTokens, body, states }: ClientRequest): Buffer {
  const members: JsonObject = { model }
  if (stream) members.stream = true
  if (maxTokens !== undefined) members.max_output_tokens = maxTokens
  return prependMembers(members, withoutLostThoughts(body, states))
}

const COMPACTION = '"type":"compaction"'

/** A summary that the gateway sealed goes to the vendor as a text. */
function withOpened(body: Buffer, states: StateSeal | undefined): Buffer {
  if (states === undefined || !body.includes(COMPACTION)) return body
  const request = parseExactly(body.toString('utf8')) as JsonObject
  const opened = withOpenedCompactions(request, states)
  return opened === request ? body : Buffer.from(JSON.stringify(opened))
}

/** The edge writes no space between a member's name and its value. */
const THOUGHT = '"type":"reasoning"'

function withoutLostThoughts(body: Buffer, states: StateSeal | undefined): Buffer {
  if (!body.includes(THOUGHT)) return body
  const request = parseExactly(body.toString('utf8')) as JsonObject
  if (!Array.isArray(request.input)) return body
  const input = request.input.filter(
    (item, index) => !isObject(item) || !isLost(item, `input[${index}].encrypted_content`, states),
  )
  return input.length === request.input.length ? body : Buffer.from(JSON.stringify({ ...request, input }))
}

function isLost(
  { type, id, encrypted_content: encrypted, content }: JsonObject,
  member: string,
  states: StateSeal | undefined,
): boolean {
  if (type !== 'reasoning') return false
  if (typeof encrypted === 'string') return openState(states, encrypted, member) !== null
  return wordOf(id).startsWith(OWN_THOUGHT) || !Array.isArray(content) || content.length === 0
}

function readResponse(bytes: Buffer, identity: Identity, readRequest: ReadRequest): PlainResponse {
  const json = parseResponse(bytes)
  const usage = readUsage(json.usage)
  const calls = callsMember(callsOfResponse(json))
  const counted = { usage: usage && { ...usage, ...calls }, ...calls }
  const isNamed = isResponseId('responses', json.id)
  const text = isNamed
    ? bytes.toString('utf8')
    : JSON.stringify({ ...parseObject(bytes, parseExactly), id: ownId(json.id, identity) })
  const status = typeof json.status === 'string' ? json.status : 'completed'
  const complete = completePlain(text, status, identity, readRequest)
  if (isNamed && complete === null) return { bytes, json, ...counted }
  const written = complete ?? text
  return { bytes: Buffer.from(written), json: parseExactly(written) as JsonObject, ...counted }
}

/** Throws `BackendFault` where the response failed or is none. */
export function parseResponse(bytes: Buffer): JsonObject {
  const json = parseResponseBody(bytes)
  if (!Array.isArray(json.output)) throw invalid('the answer has no output')
  if (json.status === 'failed' || json.status === 'cancelled') throw failureOf(json)
  return json
}

/** The types of `openai` 7.55 (2026) name no other codes for faults of a request. */
const STATUSES = new Map(Object.entries<number>({ rate_limit_exceeded: 429, server_error: 500, invalid_prompt: 400 }))

export function failureOf({ error }: JsonObject): BackendFault {
  const { code, message } = membersOf(error)
  const status = STATUSES.get(wordOf(code)) ?? (wordOf(code).includes('image') ? 400 : 500)
  return new BackendFault('error_event', 'the backend reported a failed response', {
    status,
    body: JSON.stringify({ error: { message, type: status === 400 ? 'invalid_request_error' : 'server_error', code } }),
  })
}

const OPENING = new Set<unknown>(['response.created', 'response.queued', 'response.in_progress'])
const ENDS = new Set<unknown>(['response.completed', 'response.incomplete'])
/** Other events before the first content are few; a server that repeats itself is not kept in memory. */
const MOST_BEFORE_CONTENT_BYTES = 64 * 1024

/** Such an event repeats the request's tools and holds nothing else, so only its frame is looked at. */
function isOpening(name: string | null, data: string): boolean {
  return OPENING.has(name) && data.startsWith(`{"type":"${name}",`) && data.endsWith('}')
}

/**
 * The usage in an event that ends a response, which repeats the request's tools and all texts. Undefined where only a
 * parser of the whole can know.
 *
 * The text behind the last `"usage":` is parsed. It closes as many braces as it may only if that member is the
 * response's own: no server writes another object behind the response.
 */
function usageAtEnd(data: string): unknown {
  const at = data.lastIndexOf('"usage":{')
  // A quote that is escaped belongs to a text.
  if (data[at - 1] !== ',' || !END_IN_ORDER.test(data)) return undefined
  try {
    return (JSON.parse(`{${data.slice(at, -1)}`) as JsonObject).usage
  } catch {
    return undefined
  }
}

const END_IN_ORDER = /^\{"type":"response\.(?:completed|incomplete)",(?:"sequence_number":\d+,)?"response":\{"/

/** Nearly all servers write the id so, and the router names events so itself. */
const ID = /"response":\{"id":"([\w-]{1,200})"/

interface LastEvent {
  type: string
  data: string
  raw: Buffer
}

class ResponsesStream implements StreamReading {
  readonly progress = noProgress()
  /** All before the first content. The opening events hold the request's tools, which may be large. */
  #unbegun: Buffer[] = []
  #unbegunBytes = 0
  #opened = new Set<unknown>()
  #last: LastEvent | null = null
  #calls = new ItemCalls()
  #identity: Identity
  #readRequest: ReadRequest
  #completer: EventCompleter
  /** The id in the opening events, and the number of the last event. */
  #id: string | undefined
  #sequence = 0

  constructor(identity: Identity, readRequest: ReadRequest) {
    this.#identity = identity
    this.#readRequest = readRequest
    this.#completer = new EventCompleter(identity, readRequest)
  }

  read(sent: SseEvent): Buffer | null {
    return this.#read(this.#completer.complete(sent))
  }

  #read({ name, data, raw }: SseEvent): Buffer | null {
    if (data === '[DONE]') {
      this.progress.done = true
      return null
    }
    if (!this.progress.begun && isOpening(name, data)) {
      this.#id ??= ID.exec(data)?.[1]
      return this.#hold(name, raw)
    }
    const usage = ENDS.has(name) && data.startsWith(`{"type":"${name}",`) ? usageAtEnd(data) : undefined
    if (usage !== undefined) return this.#end({ type: name!, data, raw }, usage)
    const event = parseChunk(data)
    if (name === 'error' || event.type === 'error') throw errorEvent(data)
    if (event.type === 'response.failed') throw failureOf(membersOf(event.response))
    if (ENDS.has(event.type)) {
      if (!isObject(event.response)) throw invalid('the last event has no response')
      return this.#end({ type: wordOf(event.type), data, raw }, event.response.usage)
    }
    if (this.progress.begun) {
      this.#record(event)
      return raw
    }
    if (!this.#record(event)) return this.#hold(event.type, raw)
    this.progress.begun = true
    return Buffer.concat([...this.#unbegun.splice(0), raw])
  }

  /** The terminal event, with usage where the backend gave none. */
  usageChunk(usage: TokenUsage): Buffer {
    if (this.#last === null) throw new Error('a response without a terminal event has no usage')
    const { type, data, raw } = this.#last
    const named = `event: ${type}\n`
    const isCounted = this.progress.usage !== null && !usage.estimated
    if (isCounted && raw.toString('latin1', 0, named.length) === named) return raw
    const event = parseExactly(data) as JsonObject
    const full = isCounted ? event : { ...event, response: withUsage(event.response as JsonObject, usage) }
    return Buffer.from(`${named}data: ${JSON.stringify(full)}\n\n`)
  }

  /** The router keeps none of the text that has passed, so the event that ends the response repeats none of it. */
  cut(): Buffer {
    const response = {
      id: this.#id ?? ownId('', this.#identity),
      ...membersFor(this.#readRequest, this.#identity, 'incomplete'),
      incomplete_details: { reason: 'max_output_tokens' },
    }
    const type = 'response.incomplete'
    const data = JSON.stringify({ type, sequence_number: this.#sequence + 1, response })
    return this.#end({ type, data, raw: Buffer.from('') }, null) ?? Buffer.from('')
  }

  /** Records an event, and returns true if it brings content. */
  #record({ type, delta, item, sequence_number: sequence }: JsonObject): boolean {
    if (typeof sequence === 'number') this.#sequence = sequence
    if (type === 'response.output_item.done' && isObject(item)) this.#recordCall(item)
    if (typeof delta === 'string' && delta !== '') {
      addText(this.progress.text, delta)
      return true
    }
    if (type !== 'response.output_item.added' || !isObject(item)) return false
    if (typeof item.name === 'string') addText(this.progress.text, item.name)
    return item.type !== 'message' && item.type !== 'reasoning'
  }

  /** Only a response with calls is parsed for the vendor's count of them. */
  #callsIn({ data }: LastEvent): ToolCalls {
    const { toolCalls } = this.progress
    return toolCalls ? callsOfResponse(membersOf(parseChunk(data).response), toolCalls) : {}
  }

  #recordCall(item: JsonObject): void {
    this.#calls.note(item)
    if (Object.keys(this.#calls.counts).length > 0) this.progress.toolCalls = this.#calls.counts
  }

  #hold(type: unknown, raw: Buffer): null {
    if (OPENING.has(type) && !this.#opened.has(type)) this.#opened.add(type)
    else if (this.#unbegunBytes + raw.length > MOST_BEFORE_CONTENT_BYTES) return null
    else this.#unbegunBytes += raw.length
    this.#unbegun.push(raw)
    return null
  }

  #end(last: LastEvent, usage: unknown): Buffer | null {
    const counted = readUsage(usage)
    recordUsage(this.progress, counted && { ...counted, ...callsMember(this.#callsIn(last)) })
    this.#last = last
    this.progress.begun = true
    this.progress.complete = true
    this.progress.done = true
    return this.#unbegun.length > 0 ? Buffer.concat(this.#unbegun.splice(0)) : null
  }
}
