/**
 * A stream of Messages events as chat completion chunks, event by event.
 */

import type { TokenUsage } from '@gateway/contracts/usage'
import { parseChunk, writeChunk, type Chunk } from '../../core/chat-chunk.ts'
import { responseId } from '../../core/response-id.ts'
import { isText } from '../../core/error-response.ts'
import { isObject, type JsonObject, membersOf, parseExactly } from '@gateway/contracts/json'
import type { Identity } from '../../core/complete-response.ts'
import { keepsState, STATE } from '../../core/reasoning-state.ts'
import type { SseEvent } from '@gateway/sse/parse-events'
import type { ChatReading } from '../dialect.ts'
import { errorMessageOf, faultOf } from '../messages-to-messages/errors.ts'
import { MessageWatch } from '../messages-to-messages/watch-message.ts'
import { KeptThoughts } from './kept-thoughts.ts'
import { JsonText, type JsonBy } from './json-text.ts'
import { argumentsOf, finishReasonOf, isOutputCall, refusalOf, writeUsage } from './response.ts'

export class MessagesStream implements ChatReading {
  #watch = new MessageWatch()
  /** A client of chat sees nothing of a tool that the backend runs itself: `begun` is set here. */
  readonly progress = this.#watch.progress
  /** The backend's own identity replaces it. */
  #identity: Identity
  /** The position of each tool call among the tool calls, by the index of its block. */
  #toolCalls = new Map<unknown, number>()
  /** The blocks that are calls of our own tool. */
  #outputCalls = new Set<unknown>()
  /** Arguments that came with the start of a call, by the index of its block: pieces behind it replace them. */
  #waiting = new Map<unknown, string>()

  /** Set where the client requested a response in JSON that the model has no parameter for. */
  #json: JsonText | null
  /** Null where nobody would get its state. */
  #thoughts: KeptThoughts | null

  constructor(identity: Identity, json: JsonBy | null) {
    this.#identity = identity
    this.#json = json && new JsonText(json)
    this.#thoughts = keepsState(identity) ? new KeptThoughts() : null
  }

  read(event: SseEvent): Buffer | null {
    return this.write(this.chunks(event))
  }

  write(chunks: readonly Chunk[]): Buffer | null {
    if (chunks.length < 2) return chunks.length === 0 ? null : writeChunk(chunks[0]!)
    return Buffer.concat(chunks.map(writeChunk))
  }

  chunks(event: SseEvent): Chunk[] {
    if (event.name === 'error') throw faultOf(errorMessageOf(event.data))
    const message = parseChunk(event.data)
    this.#watch.note(message)
    if (message.type === 'message_delta') return this.#finish(message)
    const chunk = this.#chunkOf(message, event)
    return chunk ? [chunk] : []
  }

  #chunkOf(message: JsonObject, { data }: SseEvent): Chunk | null {
    switch (message.type) {
      case 'message_start':
        return this.#start(message)
      case 'content_block_start':
        return this.#startBlock(message, data)
      case 'content_block_delta':
        return this.#delta(message)
      case 'content_block_stop':
        return this.#endThought(message.index) ?? this.#sayWaiting(message.index)
      default:
        // Pings, and kinds of events yet to come.
        return null
    }
  }

  usageChunk(usage: TokenUsage): Buffer {
    return writeChunk(this.#writeChunk({ choices: [], usage: writeUsage(usage) }))
  }

  cut(): Buffer {
    return writeChunk(this.cutChunk())
  }

  cutChunk(): Chunk {
    this.progress.complete = this.progress.done = true
    return this.#chunk({}, 'length')
  }

  #start({ message }: JsonObject): Chunk | null {
    if (!isObject(message)) return null
    const { id, model } = message
    this.#identity = {
      ...this.#identity,
      id: responseId('chat', isText(id) && id !== '' ? id : this.#identity.id),
      ...(isText(model) ? { model } : null),
    }
    return this.#chunk({ role: 'assistant', content: '' })
  }

  #startBlock({ index, content_block: block }: JsonObject, data: string): Chunk | null {
    if (!isObject(block)) return null
    this.#thoughts?.start(index, block)
    if (block.type === 'text') return this.#text(block.text)
    if (block.type === 'thinking') return this.#content('reasoning_content', block.thinking)
    if (block.type !== 'tool_use') return null
    if (isOutputCall(block)) return this.#startOutput(index, argumentsIn(block, data))
    this.#waiting.set(index, argumentsIn(block, data))
    this.progress.begun = true
    const position = this.#toolCalls.size
    this.#toolCalls.set(index, position)
    const called = { name: block.name, arguments: '' }
    return this.#chunk({ tool_calls: [{ index: position, id: block.id, type: 'function', function: called }] })
  }

  #delta({ index, delta }: JsonObject): Chunk | null {
    if (!isObject(delta)) return null
    this.#thoughts?.add(index, delta)
    switch (delta.type) {
      case 'text_delta':
        return this.#text(delta.text)
      case 'thinking_delta':
        return this.#content('reasoning_content', delta.thinking)
      case 'input_json_delta':
        return this.#arguments(index, delta.partial_json)
      default:
        return null
    }
  }

  #endThought(index: unknown): Chunk | null {
    const block = this.#thoughts?.end(index)
    return block ? this.#chunk({ [STATE]: [block] }) : null
  }

  /** Another call than the first would be glued to it. */
  #startOutput(index: unknown, args: string): Chunk | null {
    const { isFirst, thoughts } = (this.#json ??= new JsonText('call')).beginCall()
    if (isFirst) {
      this.#outputCalls.add(index)
      this.#waiting.set(index, args)
    }
    return this.#content('reasoning_content', thoughts)
  }

  #text(text: unknown): Chunk | null {
    if (this.#json === null || typeof text !== 'string') return this.#content('content', text)
    const { content, thoughts } = this.#json.take(text)
    if (content === '') return this.#content('reasoning_content', thoughts)
    this.progress.begun = true
    return this.#chunk({ ...(thoughts === '' ? {} : { reasoning_content: thoughts }), content })
  }

  #content(field: 'content' | 'reasoning_content', text: unknown): Chunk | null {
    if (typeof text !== 'string' || text === '') return null
    this.progress.begun = true
    return this.#chunk({ [field]: text })
  }

  #sayWaiting(index: unknown): Chunk | null {
    return this.#arguments(index, this.#waiting.get(index))
  }

  /** The client learns only the outcome of a tool that the backend runs itself, which has no position. */
  #arguments(index: unknown, fragment: unknown): Chunk | null {
    if (fragment !== '') this.#waiting.delete(index)
    if (this.#outputCalls.has(index)) return this.#content('content', fragment)
    const position = this.#toolCalls.get(index)
    if (position === undefined || typeof fragment !== 'string' || fragment === '') return null
    return this.#chunk({ tool_calls: [{ index: position, function: { arguments: fragment } }] })
  }

  #finish({ delta }: JsonObject): Chunk[] {
    if (!isObject(delta) || delta.stop_reason == null) return []
    this.progress.begun = true
    // Some servers end no block.
    const late = [...this.#waiting.keys()].map((index) => this.#sayWaiting(index))
    const words = this.#content('content', this.#json?.end())
    const refusal = refusalOf(delta.stop_details)
    const reason = finishReasonOf(delta.stop_reason, {
      output: this.#outputCalls.size > 0,
      tools: this.#toolCalls.size > 0,
    })
    const end = this.#chunk(refusal === null ? {} : { refusal }, reason)
    return [...late, words, end].filter((chunk) => chunk !== null)
  }

  #chunk(delta: JsonObject, finishReason: string | null = null): Chunk {
    return this.#writeChunk({ choices: [{ index: 0, delta, finish_reason: finishReason }] })
  }

  #writeChunk(rest: JsonObject): Chunk {
    const { id, created, model } = this.#identity
    return { id, object: 'chat.completion.chunk', created, model, ...rest }
  }
}

/** `data`: the event, for the text of the numbers. */
function argumentsIn({ input }: JsonObject, data: string): string {
  if (!isObject(input)) return argumentsOf(input)
  for (const _ in input) return argumentsOf(membersOf((parseExactly(data) as JsonObject).content_block).input)
  return '{}'
}
