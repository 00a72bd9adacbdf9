/**
 * A stream of Messages events as chat completion chunks, event by event.
 */

import type { TokenUsage } from '@gateway/contracts/usage'
import { parseChunk, writeChunk, type Chunk } from '../../core/chat-chunk.ts'
import { isText } from '../../core/error-answer.ts'
import { isObject, type JsonObject } from '@gateway/contracts/json'
import type { Identity } from '../../core/whole-record.ts'
import type { SseEvent } from '../../core/sse-events.ts'
import type { ChatReading } from '../dialect.ts'
import { errorMessageOf, faultOf } from '../messages/errors.ts'
import { MessageWatch } from '../messages/watch-message.ts'
import { finishReasonOf, isAnswer, refusalOf, writeUsage } from './answer.ts'

export class MessagesStream implements ChatReading {
  #watch = new MessageWatch()
  /** A client of chat sees nothing of a tool that the backend runs itself: `begun` is told here. */
  readonly progress = this.#watch.progress
  /** Replaced by what the backend says of it. */
  #identity: Identity
  /** The position of each tool call among the tool calls, by the index of its block. */
  #toolCalls = new Map<unknown, number>()
  /** The blocks that are calls of our own tool. */
  #answers = new Set<unknown>()

  constructor(identity: Identity) {
    this.#identity = identity
  }

  read(event: SseEvent): Buffer | null {
    const [chunk] = this.chunks(event)
    return chunk ? writeChunk(chunk) : null
  }

  chunks(event: SseEvent): Chunk[] {
    const chunk = this.#chunkOf(event)
    return chunk ? [chunk] : []
  }

  #chunkOf(event: SseEvent): Chunk | null {
    if (event.name === 'error') throw faultOf(errorMessageOf(event.data))
    const message = parseChunk(event.data)
    this.#watch.note(message)
    switch (message.type) {
      case 'message_start':
        return this.#start(message)
      case 'content_block_start':
        return this.#startBlock(message)
      case 'content_block_delta':
        return this.#delta(message)
      case 'message_delta':
        return this.#finish(message)
      default:
        // Pings, ends of blocks, and kinds of events yet to come.
        return null
    }
  }

  usageChunk(usage: TokenUsage): Buffer {
    return writeChunk(this.#whole({ choices: [], usage: writeUsage(usage) }))
  }

  #start({ message }: JsonObject): Chunk | null {
    if (!isObject(message)) return null
    const { id, model } = message
    this.#identity = {
      ...this.#identity,
      ...(isText(id) ? { id } : null),
      ...(isText(model) ? { model } : null),
    }
    return this.#chunk({ role: 'assistant', content: '' })
  }

  #startBlock({ index, content_block: block }: JsonObject): Chunk | null {
    if (!isObject(block)) return null
    if (block.type === 'text') return this.#content('content', block.text)
    if (isAnswer(block)) {
      this.#answers.add(index)
      return null
    }
    if (block.type !== 'tool_use') return null
    this.progress.begun = true
    const position = this.#toolCalls.size
    this.#toolCalls.set(index, position)
    const called = { name: block.name, arguments: '' }
    return this.#chunk({ tool_calls: [{ index: position, id: block.id, type: 'function', function: called }] })
  }

  #delta({ index, delta }: JsonObject): Chunk | null {
    if (!isObject(delta)) return null
    switch (delta.type) {
      case 'text_delta':
        return this.#content('content', delta.text)
      case 'thinking_delta':
        return this.#content('reasoning_content', delta.thinking)
      case 'input_json_delta':
        return this.#arguments(index, delta.partial_json)
      default:
        return null
    }
  }

  #content(field: 'content' | 'reasoning_content', text: unknown): Chunk | null {
    if (typeof text !== 'string' || text === '') return null
    this.progress.begun = true
    return this.#chunk({ [field]: text })
  }

  /** Of a tool that the backend runs itself (it has no position) the client learns the outcome only. */
  #arguments(index: unknown, fragment: unknown): Chunk | null {
    if (this.#answers.has(index)) return this.#content('content', fragment)
    const position = this.#toolCalls.get(index)
    if (position === undefined || typeof fragment !== 'string' || fragment === '') return null
    return this.#chunk({ tool_calls: [{ index: position, function: { arguments: fragment } }] })
  }

  #finish({ delta }: JsonObject): Chunk | null {
    if (!isObject(delta) || delta.stop_reason == null) return null
    this.progress.begun = true
    const refusal = refusalOf(delta.stop_details)
    return this.#chunk(refusal === null ? {} : { refusal }, finishReasonOf(delta.stop_reason, this.#answers.size > 0))
  }

  #chunk(delta: JsonObject, finishReason: string | null = null): Chunk {
    return this.#whole({ choices: [{ index: 0, delta, finish_reason: finishReason }] })
  }

  #whole(rest: JsonObject): Chunk {
    const { id, created, model } = this.#identity
    return { id, object: 'chat.completion.chunk', created, model, ...rest }
  }
}
