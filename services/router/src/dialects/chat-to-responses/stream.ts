/**
 * A stream of Responses events as chat completion chunks, event by event.
 *
 * Some servers send a text in pieces, others whole at its end, and some in the last event alone. The client gets each
 * text once, in all these cases. When an event repeats a text, only its unsent part goes out. The stream keeps lengths,
 * never the texts.
 */

import { type JsonObject, isObject, membersOf, objectsOf, wordOf } from '@gateway/contracts/json'
import type { TokenUsage } from '@gateway/contracts/usage'
import { type Chunk, errorEvent, parseChunk, readUsage, writeChunk } from '../../core/chat-chunk.ts'
import { invalid } from '../../core/plain-response.ts'
import type { SseEvent } from '@gateway/sse/parse-events'
import type { Identity } from '../../core/complete-response.ts'
import { keepsState, STATE } from '../../core/reasoning-state.ts'
import { addText, type ChatReading, noProgress, recordUsage } from '../dialect.ts'
import { failureOf } from '../responses-to-responses.ts'
import {
  callOf,
  charactersOf,
  citationOf,
  finishReasonOf,
  isState,
  nameOf,
  serviceTierOf,
  usageMember,
} from './response.ts'

type Member = 'content' | 'refusal' | 'reasoning_content'

/** The events that bring pieces of a text, and the member of the delta that takes them. */
const PIECES = new Map<unknown, Member>([
  ['response.output_text.delta', 'content'],
  ['response.refusal.delta', 'refusal'],
  ['response.reasoning_text.delta', 'reasoning_content'],
  ['response.reasoning_summary_text.delta', 'reasoning_content'],
])
const CALL_PIECES = new Set<unknown>([
  'response.function_call_arguments.delta',
  'response.custom_tool_call_input.delta',
])
const ENDS = new Set<unknown>(['response.completed', 'response.incomplete'])
/** The parts of an item that say something, and how their events are called. */
const PARTS = new Map<unknown, { member: Member; text: 'text' | 'refusal'; event: string }>([
  ['output_text', { member: 'content', text: 'text', event: 'output_text' }],
  ['refusal', { member: 'refusal', text: 'refusal', event: 'refusal' }],
  ['reasoning_text', { member: 'reasoning_content', text: 'text', event: 'reasoning_text' }],
  ['summary_text', { member: 'reasoning_content', text: 'text', event: 'reasoning_summary_text' }],
])

/** A part of an item's text. */
interface Part {
  /** Its characters that the client has. */
  sent: number
  /** Where it starts in the client's text. */
  begin: number
  /** Its annotations that have been read. */
  annotations: number
}

interface Call {
  /** Its place among the calls. */
  position: number
  isCustom: boolean
  /** Characters of its arguments that the client has. */
  sent: number
}

export class ResponsesToChatStream implements ChatReading {
  readonly progress = noProgress()
  #name: JsonObject
  #identity: Identity
  #tier: JsonObject = {}
  /** By the position of the item in the output. */
  #calls = new Map<unknown, Call>()
  /** By the item's position, the kind of event and the part's position. */
  #parts = new Map<string, Part>()
  /** Characters of the client's text. */
  #content = 0
  /** The items whose reasoning comes as text: their summaries would say it twice. */
  #reasoning = new Map<unknown, string>()

  /** The positions of the items whose state has been handed on; null where nobody would get it. */
  #states: Set<unknown> | null

  constructor(identity: Identity) {
    this.#states = keepsState(identity) ? new Set() : null
    this.#identity = identity
    this.#name = nameOf({}, identity)
  }

  read(event: SseEvent): Buffer | null {
    return this.write(this.chunks(event))
  }

  write(chunks: readonly Chunk[]): Buffer | null {
    return chunks.length > 0 ? Buffer.concat(chunks.map(writeChunk)) : null
  }

  chunks({ name, data }: SseEvent): Chunk[] {
    if (data === '[DONE]') {
      this.progress.done = true
      return []
    }
    const event = parseChunk(data)
    if (name === 'error' || event.type === 'error') throw errorEvent(data)
    if (event.type === 'response.failed') throw failureOf(membersOf(event.response))
    if (ENDS.has(event.type)) return this.#end(event.response)
    return this.#chunksOf(event)
  }

  usageChunk(usage: TokenUsage): Buffer {
    return writeChunk(this.#chunk(usageMember(usage)))
  }

  cut(): Buffer {
    return writeChunk(this.cutChunk())
  }

  cutChunk(): Chunk {
    this.progress.complete = this.progress.done = true
    return this.#chunk({ choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: 'length' }] })
  }

  #chunksOf(event: JsonObject): Chunk[] {
    const { type, output_index: at, item, delta } = event
    const member = PIECES.get(type)
    if (member !== undefined) return this.#piece(member, wordOf(type).slice(9, -6), event)
    if (CALL_PIECES.has(type)) return this.#arguments(this.#calls.get(at), delta)
    switch (type) {
      case 'response.created':
        return this.#start(event.response)
      case 'response.output_item.added':
        return isObject(item) ? this.#startCall(at, item) : []
      case 'response.output_item.done':
        return isObject(item) ? this.#completeItem(at, item) : []
      case 'response.output_text.annotation.added':
        return this.#annotation(this.#partAt(at, 'output_text', event.content_index), event.annotation)
      default:
        // Progress of hosted tools, ends of parts that the item's end repeats, and kinds of events yet to come.
        return []
    }
  }

  #start(response: unknown): Chunk[] {
    if (isObject(response)) {
      this.#name = nameOf(response, this.#identity)
      this.#tier = serviceTierOf(response)
    }
    return [this.#delta({ role: 'assistant', content: '' })]
  }

  #piece(member: Member, kind: string, event: JsonObject): Chunk[] {
    const { output_index: at, content_index: part = event.summary_index, delta, logprobs } = event
    if (typeof delta !== 'string' || delta === '' || !this.#isReceived(at, kind)) return []
    this.#partAt(at, kind, part).sent += delta.length
    return [this.#say(member, delta, objectsOf(logprobs))]
  }

  #partAt(at: unknown, kind: string, index: unknown): Part {
    const key = `${wordOf(at)} ${kind} ${wordOf(index)}`
    let part = this.#parts.get(key)
    if (part === undefined) this.#parts.set(key, (part = { sent: 0, begin: this.#content, annotations: 0 }))
    return part
  }

  /** The client reads an item's reasoning or its summary: the one that comes first. */
  #isReceived(at: unknown, kind: string): boolean {
    if (!kind.startsWith('reasoning')) return true
    const received = this.#reasoning.get(at) ?? kind
    this.#reasoning.set(at, received)
    return received === kind
  }

  #say(member: Member, text: string, logprobs: JsonObject[] = []): Chunk {
    addText(this.progress.text, text)
    this.progress.begun = true
    if (member === 'content') this.#content += charactersOf(text)
    return this.#delta({ [member]: text }, logprobs)
  }

  #startCall(at: unknown, item: JsonObject): Chunk[] {
    const call = callOf(item)
    if (call === null || this.#calls.has(at)) return []
    const started = { position: this.#calls.size, isCustom: call.type === 'custom', sent: 0 }
    this.#calls.set(at, started)
    this.progress.begun = true
    if (typeof item.name === 'string') addText(this.progress.text, item.name)
    const empty = started.isCustom ? { name: item.name, input: '' } : { name: item.name, arguments: '' }
    const { id, type } = call
    const first = { index: started.position, id, type, [wordOf(type)]: empty }
    return [this.#delta({ tool_calls: [first] }), ...this.#rest(started, argumentsOf(item))]
  }

  #arguments(call: Call | undefined, piece: unknown): Chunk[] {
    if (call === undefined || typeof piece !== 'string' || piece === '') return []
    call.sent += piece.length
    addText(this.progress.text, piece)
    const said = call.isCustom ? { custom: { input: piece } } : { function: { arguments: piece } }
    return [this.#delta({ tool_calls: [{ index: call.position, ...said }] })]
  }

  #rest(call: Call, full: string): Chunk[] {
    return this.#arguments(call, full.slice(call.sent))
  }

  /** An item at its end: all of it that the client has not received. */
  #completeItem(at: unknown, item: JsonObject): Chunk[] {
    if (callOf(item) !== null) {
      const start = this.#startCall(at, item)
      return [...start, ...this.#rest(this.#calls.get(at)!, argumentsOf(item))]
    }
    if (item.type !== 'message' && item.type !== 'reasoning') return []
    const parts = [...objectsOf(item.content).entries(), ...objectsOf(item.summary).entries()]
    const words = parts.flatMap(([index, part]) => this.#completePart(at, index, part))
    return [...words, ...this.#state(at, item)]
  }

  /** Once: the last event repeats all items. */
  #state(at: unknown, item: JsonObject): Chunk[] {
    if (this.#states === null || this.#states.has(at) || !isState(item)) return []
    this.#states.add(at)
    return [this.#delta({ [STATE]: [item] })]
  }

  #completePart(at: unknown, index: number, part: JsonObject): Chunk[] {
    const known = PARTS.get(part.type)
    const text = known && part[known.text]
    if (typeof text !== 'string' || !this.#isReceived(at, known!.event)) return []
    const own = this.#partAt(at, known!.event, index)
    const rest = text.slice(own.sent)
    own.sent = text.length
    const said = rest === '' ? [] : [this.#say(known!.member, rest)]
    const unread = objectsOf(part.annotations).slice(own.annotations)
    return [...said, ...unread.flatMap((annotation) => this.#annotation(own, annotation))]
  }

  #annotation(part: Part, annotation: unknown): Chunk[] {
    part.annotations++
    const citation = isObject(annotation) ? citationOf(annotation, part.begin) : null
    return citation === null ? [] : [this.#delta({ annotations: [citation] })]
  }

  #end(response: unknown): Chunk[] {
    if (!isObject(response)) throw invalid('the last event has no response')
    const unsent = objectsOf(response.output).flatMap((item, at) => this.#completeItem(at, item))
    recordUsage(this.progress, readUsage(response.usage))
    this.#tier = serviceTierOf(response)
    this.progress.begun = this.progress.complete = this.progress.done = true
    const reason = finishReasonOf(response, this.#calls.size > 0)
    return [...unsent, this.#chunk({ choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: reason }] })]
  }

  #delta(delta: JsonObject, logprobs: JsonObject[] = []): Chunk {
    const chatLogprobs = logprobs.length === 0 ? null : { content: logprobs, refusal: null }
    return this.#chunk({ choices: [{ index: 0, delta, logprobs: chatLogprobs, finish_reason: null }] })
  }

  #chunk(rest: JsonObject): Chunk {
    return { ...this.#name, object: 'chat.completion.chunk', ...this.#tier, ...rest }
  }
}

function argumentsOf({ arguments: args, input }: JsonObject): string {
  if (typeof args === 'string') return args
  return typeof input === 'string' ? input : ''
}
