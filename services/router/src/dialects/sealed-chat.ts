/**
 * Clients of chat keep the state of a target's reasoning in the ids of its calls. Most send back nothing of a turn but its text and its
 * calls. The id of a call is then a sealed token, which holds the state before the call and the target's own id.
 *
 * A turn without calls goes without its state: no target demands it there. Requests without a token and responses without state cost
 * nothing more.
 */

import { isObject, type JsonObject, objectsOf, parseExactly, wordOf } from '@gateway/contracts/json'
import type { TokenUsage } from '@gateway/contracts/usage'
import type { SseEvent } from '@gateway/sse/parse-events'
import { choicesOf, textOf, writeChunk } from '../core/chat-chunk.ts'
import type { Identity } from '../core/complete-response.ts'
import { bytesOf } from '../core/bytes-of.ts'
import { skipValue, walkItems, walkMembers } from '../core/json-members.ts'
import {
  deltasOf,
  keepsState,
  MARK,
  MARKED_TOKEN,
  openState,
  sealInId,
  splitStates,
  STATE,
  stateIn,
  withOwnStates,
  type StatePiece,
  type TurnStates,
} from '../core/reasoning-state.ts'
import type { StateSeal } from '../core/state-seal.ts'
import { newId } from '../core/tool-calls.ts'
import { plain } from '../vendors/plain.ts'
import type { VendorProfile } from '../vendors/profile.ts'
import type {
  BackendRequest,
  ChatDialect,
  ChatReading,
  ClientRequest,
  Dialect,
  PlainResponse,
  StreamReading,
} from './dialect.ts'

export function sealedChat(target: ChatDialect): Dialect {
  return {
    ...target,
    request: (clientRequest) => writeRequest(target, clientRequest),
    readBackendResponse: (kind, bytes, identity, echo) =>
      sealed(target.readBackendResponse(kind, bytes, identity, echo), identity),
    readStream(options) {
      const inner = target.readStream(options)
      return keepsState(options.identity) ? new SealedStream(inner, options.identity) : inner
    },
  }
}

function writeRequest(target: ChatDialect, clientRequest: ClientRequest): BackendRequest {
  const { body, states, stateKind, profile } = clientRequest
  if (clientRequest.kind !== 'chat' || !body.includes(MARKED_TOKEN)) return target.request(clientRequest)
  const text = body.toString('utf8')
  const read = readBody(text)
  if (read === null) return target.request(clientRequest)
  const { names, turns, count } = read
  const own = withOwnStates(withOwnIds(turns, states), stateKind)
  const { messages, turnStates } = statesFor(target, own, profile)
  return target.request({
    ...clientRequest,
    body: withTurns(text, turns, messages),
    names,
    ...(turnStates && { turnStates: atTheirPlaces(turns, turnStates, count) }),
  })
}

/** A message that holds a token, and its place in the body. */
interface MarkedTurn {
  index: number
  start: number
  end: number
  message: JsonObject
}

interface ReadBody {
  /** Of its members. */
  names: string[]
  turns: MarkedTurn[]
  /** All messages. */
  count: number
}

/** Walks the body once. Null: its messages are no list. */
function readBody(text: string): ReadBody | null {
  const read: ReadBody = { names: [], turns: [], count: 0 }
  const end = walkMembers(text, 0, (name, at) => {
    read.names.push(JSON.parse(`"${name}"`) as string)
    return name === 'messages' ? walkItems(text, at, (start) => readMessage(text, start, read)) : skipValue(text, at)
  })
  return end < 0 ? null : read
}

function readMessage(text: string, start: number, read: ReadBody): number {
  const end = skipValue(text, start)
  const item = text.slice(start, end)
  const message = item.includes(MARK) ? parseExactly(item) : null
  if (isObject(message)) read.turns.push({ index: read.count, start, end, message })
  read.count++
  return end
}

/** The other messages and the tools are most of a body, and keep their text. */
function withTurns(text: string, turns: readonly MarkedTurn[], messages: readonly JsonObject[]): Buffer {
  const pieces: string[] = []
  let behind = 0
  turns.forEach(({ start, end }, at) => {
    pieces.push(text.slice(behind, start), JSON.stringify(messages[at]))
    behind = end
  })
  return bytesOf([...pieces, text.slice(behind)])
}

function atTheirPlaces(turns: readonly MarkedTurn[], ofTurns: TurnStates, length: number): TurnStates {
  const states = Array.from<TurnStates[number]>({ length })
  turns.forEach(({ index }, at) => (states[index] = ofTurns[at]))
  return states
}

/** The messages as the target takes their state: in their members, or beside them. */
export function statesFor(
  target: ChatDialect,
  messages: readonly JsonObject[],
  profile: VendorProfile = plain,
): ReturnType<typeof splitStates> {
  const split = splitStates(messages)
  if (split.turnStates === undefined || target.withStates === undefined) return split
  return { messages: target.withStates(split.messages, split.turnStates, profile), turnStates: undefined }
}

/** The messages with the ids that targets gave, and the state of each turn in its member. */
function withOwnIds(turns: readonly MarkedTurn[], states: StateSeal | undefined): JsonObject[] {
  const ids = new Map<unknown, unknown>()
  const open = (token: unknown, member: string): StatePiece[] => {
    const opened = openState(states, token, member)
    if (opened) ids.set(token, typeof opened.id === 'string' ? opened.id : newId(wordOf(token)))
    return opened?.pieces ?? []
  }
  return turns.map(({ index, message: given }) => {
    const { [STATE]: _, ...message } = given
    const { tool_calls: calls, tool_call_id: result } = message
    if (result !== undefined && !ids.has(result)) open(result, `messages[${index}].tool_call_id`)
    if (!Array.isArray(calls)) return ids.has(result) ? { ...message, tool_call_id: ids.get(result) } : message
    const pieces: StatePiece[] = []
    const own = calls.map((call: unknown, at) => {
      if (!isObject(call)) return call
      for (const piece of open(call.id, `messages[${index}].tool_calls[${at}].id`)) pieces.push(piece)
      return ids.has(call.id) ? { ...call, id: ids.get(call.id) } : call
    })
    return { ...message, tool_calls: own, ...(pieces.length > 0 && { [STATE]: pieces }) }
  })
}

function sealed(response: PlainResponse, identity: Identity): PlainResponse {
  const [choice, ...others] = choicesOf(response.json)
  if (!choice || !isObject(choice.message) || choice.message[STATE] === undefined) return response
  const ids = new IdSealer(identity)
  const calls = deltasOf(choice.message).flatMap((delta) => objectsOf(ids.seal(delta).tool_calls))
  const { [STATE]: _, ...message } = choice.message
  const own = objectsOf(message.tool_calls).map((call, at) => ({ ...call, id: calls[at]?.id ?? call.id }))
  const named = own.length > 0 ? { ...message, tool_calls: own } : message
  const json = { ...response.json, choices: [{ ...choice, message: named }, ...others] }
  return { ...response, bytes: Buffer.from(JSON.stringify(json)), json }
}

/** Gives the calls of one turn their ids, in the order of its deltas. */
class IdSealer {
  #identity: Identity
  #text = 0
  /** The ids that the client gets, by the index of the call. */
  #ids = new Map<unknown, unknown>()
  /** Not yet in an id. */
  #pieces: StatePiece[] = []

  constructor(identity: Identity) {
    this.#identity = identity
  }

  /** The delta without its state; the same one where nothing changes. */
  seal(delta: JsonObject): JsonObject {
    const values = stateIn(delta)
    for (const value of values)
      this.#pieces.push({ kind: this.#identity.stateKind!, value, text: this.#text, calls: this.#ids.size })
    this.#text += textOf(delta.content).length
    const calls = Array.isArray(delta.tool_calls) ? delta.tool_calls : null
    const own = calls?.map((call: unknown) => (isObject(call) ? this.#named(call) : call))
    const isChanged = own?.some((call, at) => call !== calls![at]) ?? false
    if (values.length === 0 && !isChanged) return delta
    const { [STATE]: _, ...rest } = delta
    return isChanged ? { ...rest, tool_calls: own } : rest
  }

  #named(call: JsonObject): JsonObject {
    const { index, id } = call
    if (!this.#ids.has(index)) {
      const token = this.#pieces.length > 0 ? sealInId(this.#identity, id, this.#pieces) : null
      this.#pieces = []
      this.#ids.set(index, token)
    }
    const token = this.#ids.get(index)
    return token == null || id === undefined ? call : { ...call, id: token }
  }
}

class SealedStream implements StreamReading {
  readonly progress: StreamReading['progress']
  #inner: ChatReading
  #ids: IdSealer

  constructor(inner: ChatReading, identity: Identity) {
    this.progress = inner.progress
    this.#inner = inner
    this.#ids = new IdSealer(identity)
  }

  read(event: SseEvent): Buffer | null {
    const chunks = this.#inner.chunks(event)
    const own = chunks.map((chunk) => this.#seal(chunk))
    if (own.every((chunk, at) => chunk === chunks[at])) return this.#inner.write(chunks, event)
    const written = own.filter((chunk) => chunk !== null)
    return written.length > 0 ? Buffer.concat(written.map(writeChunk)) : null
  }

  /** Null where the chunk held nothing but state. */
  #seal(chunk: JsonObject): JsonObject | null {
    const [choice, ...others] = choicesOf(chunk)
    if (!choice || choice.index || !isObject(choice.delta)) return chunk
    const delta = this.#ids.seal(choice.delta)
    if (delta === choice.delta) return chunk
    if (Object.keys(delta).length === 0 && choice.finish_reason == null && others.length === 0) return null
    return { ...chunk, choices: [{ ...choice, delta }, ...others] }
  }

  usageChunk(usage: TokenUsage): Buffer {
    return this.#inner.usageChunk(usage)
  }

  cut(): Buffer {
    return this.#inner.cut()
  }
}
