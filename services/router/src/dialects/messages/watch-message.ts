/**
 * What the events of a Messages stream say of their answer: whether it has begun and is whole, its usage, its text.
 */

import type { TokenUsage } from '@gateway/contracts/usage'
import { addText, noText } from '../../core/generated-text.ts'
import type { JsonObject } from '../../core/plain-answer.ts'
import { isObject } from '../../core/read-usage.ts'
import { faultOf } from './errors.ts'
import { COUNTS, readMessagesUsage } from './usage.ts'

export class MessageWatch {
  begun = false
  complete = false
  done = false
  usage: TokenUsage | null = null
  /** Told ahead of the whole usage. */
  prompt: TokenUsage | null = null
  readonly text = noText()
  /** The fields of `usage` as they came so far: `message_delta` counts on from `message_start`. */
  #counted: JsonObject = {}

  /** Throws `BackendFault` when the event tells a failure. */
  note(event: JsonObject): void {
    switch (event.type) {
      case 'message_start':
        if (!isObject(event.message)) return
        this.#count(event.message.usage)
        this.prompt = readMessagesUsage({ ...this.#counted, output_tokens: 0 })
        return
      case 'content_block_start':
        return this.#noteBlock(event.content_block)
      case 'content_block_delta':
        return this.#noteDelta(event.delta)
      case 'message_delta':
        this.#count(event.usage)
        this.usage = readMessagesUsage(this.#counted)
        if (isObject(event.delta) && event.delta.stop_reason != null) this.begun = this.complete = true
        return
      case 'message_stop':
        this.done = true
        return
      case 'error':
        throw faultOf(event)
      default:
      // Pings, ends of blocks, and kinds of events yet to come.
    }
  }

  /** Blocks of text and of thoughts begin empty; any other one is content. */
  #noteBlock(block: unknown): void {
    if (!isObject(block)) return
    if (typeof block.name === 'string') addText(this.text, block.name)
    if (block.type === 'text' || block.type === 'thinking') this.#add(block[block.type])
    else this.begun = true
  }

  #noteDelta(delta: unknown): void {
    if (!isObject(delta)) return
    for (const field of ['text', 'thinking', 'partial_json']) this.#add(delta[field])
    // Thoughts that are not shown have a signature alone.
    if (delta.type === 'signature_delta') this.begun = true
  }

  #add(piece: unknown): void {
    if (typeof piece !== 'string' || piece === '') return
    addText(this.text, piece)
    this.begun = true
  }

  #count(usage: unknown): void {
    if (!isObject(usage)) return
    for (const field of COUNTS) if (usage[field] != null) this.#counted[field] = usage[field]
  }
}
