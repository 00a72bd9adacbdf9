/**
 * Chunks of a chat completion as the events of a Messages stream, in the API's order: one block after another, each
 * begun, filled and ended.
 *
 * Chat may interleave the arguments of several tool calls. A block ends when the next one has begun and its own
 * arguments are whole JSON. Until then the pieces of later blocks wait.
 */

import { NO_TOKENS, type TokenUsage } from '@gateway/contracts/usage'
import { choicesOf, isFinished, textOf, thoughtsOf } from '../../core/chat-chunk.ts'
import { type JsonObject, isObject, membersOf, wordOf } from '@gateway/contracts/json'
import type { Identity } from '../../core/complete-response.ts'
import { sealMarked, stateIn } from '../../core/reasoning-state.ts'
import { ANTHROPIC_IDS, fitId } from '../../core/tool-calls.ts'
import { UNSIGNED } from '../messages-to-messages/unsigned.ts'
import { writeDeltaUsage, writeMessagesUsage } from '../messages-to-messages/response.ts'
import { stopOf, writeHiddenThought, writeMessage, writeText, writeToolUse } from './response.ts'
import { OpenObject } from './open-object.ts'
import type { Echo } from './request.ts'

interface Block {
  kind: 'text' | 'thinking' | 'tool_use' | 'redacted_thinking'
  /** The block in its first event. */
  start: JsonObject
  /** Not yet written. */
  waiting: string
  /** tool_use: all arguments so far. */
  input: string
  /** tool_use: how far they have come. */
  json: OpenObject
  isBegun: boolean
  /** thinking: the sealed state that ends it. */
  signature?: string
}

export class MessagesEvents {
  #echo: Echo
  #identity: Identity
  #written = ''
  #id: string | null = null
  /** Null: it has ended. */
  #blocks: (Block | null)[] = []
  /** The index of the block that is under way. */
  #index = 0
  #calls = new Map<unknown, Block>()
  #lastCall: unknown
  #refusal = ''
  #stop: JsonObject | null = null

  /** Sealed states that wait for the block behind them. */
  #states: string[] = []

  constructor(echo: Echo, identity: Identity) {
    this.#echo = echo
    this.#identity = identity
  }

  /** The bytes to pass on for this chunk, or null. */
  take(chunk: JsonObject): Buffer | null {
    if (this.#id === null) this.#begin(chunk)
    for (const choice of choicesOf(chunk)) if (!choice.index && this.#stop === null) this.#read(choice)
    return this.#flush()
  }

  /** The events that end the message; its last one is `message_stop`. */
  close(usage: TokenUsage): Buffer {
    // Some servers say that they are done, and not why.
    this.#stop ??= this.#stopOf({})
    this.#write()
    this.#event('message_delta', { delta: this.#stop, usage: writeDeltaUsage(usage) })
    this.#event('message_stop', {})
    return this.#flush()!
  }

  #begin({ id, model }: JsonObject): void {
    this.#id = wordOf(id)
    const message = writeMessage({ id, model }, [], { stop_reason: null, stop_sequence: null })
    // The backend counts at the end only, and `message_delta` reports its figures. A guess would look as one of them.
    const usage = writeMessagesUsage(NO_TOKENS)
    this.#event('message_start', { message: { ...message, usage } })
  }

  #read(choice: JsonObject): void {
    const { delta } = choice
    if (isObject(delta)) {
      if (this.#echo.showsThinking) this.#add('thinking', thoughtsOf(delta))
      for (const value of stateIn(delta)) this.#addState(value)
      this.#add('text', textOf(delta.content))
      if (typeof delta.refusal === 'string') this.#refusal += delta.refusal
      if (Array.isArray(delta.tool_calls)) for (const call of delta.tool_calls) if (isObject(call)) this.#call(call)
    }
    if (isFinished(choice)) this.#stop = this.#stopOf(choice)
    this.#write()
  }

  #stopOf(choice: JsonObject): JsonObject {
    return stopOf(choice, { hasCalls: this.#calls.size > 0, refusal: this.#refusal })
  }

  #add(kind: 'text' | 'thinking', text: string): void {
    if (text === '') return
    const last = this.#blocks.at(-1)
    const isOpen = last?.kind === kind && last.signature === undefined && this.#states.length === 0
    if (isOpen) last.waiting += text
    else if (kind === 'text') this.#open('text', writeText('')).waiting = text
    else this.#open('thinking', { type: 'thinking', thinking: '', signature: '' }).waiting = text
  }

  #addState(value: unknown): void {
    const state = this.#echo.keepsState ? sealMarked(this.#identity, value) : null
    const last = this.#blocks.at(-1)
    if (state === null) return
    if (last?.kind === 'thinking' && last.signature === undefined) last.signature = state
    else this.#states.push(state)
  }

  #call(call: JsonObject): void {
    const { name, arguments: fragment } = membersOf(call.function)
    const block = this.#blockOf(call, name)
    if (typeof fragment !== 'string') return
    block.waiting += fragment
    block.input += fragment
    block.json.add(fragment)
  }

  /** Gemini numbers no calls: there each one with an id is a new one. */
  #blockOf({ index, id }: JsonObject, name: unknown): Block {
    const key = index ?? id ?? this.#lastCall
    const known = this.#calls.get(key)
    if (known) return known
    const position = this.#calls.size
    const start = writeToolUse(fitId(id || `${this.#id}_${position}`, ANTHROPIC_IDS), name, {})
    const block = this.#open('tool_use', start)
    this.#lastCall = key ?? position
    this.#calls.set(this.#lastCall, block)
    return block
  }

  #open(kind: Block['kind'], start: JsonObject): Block {
    for (const data of this.#states.splice(0)) this.#open('redacted_thinking', writeHiddenThought(data))
    const block: Block = { kind, start, waiting: '', input: '', json: new OpenObject(), isBegun: false }
    this.#blocks.push(block)
    return block
  }

  #write(): void {
    for (let block = this.#blocks[this.#index]; block; block = this.#blocks[this.#index]) {
      this.#fill(block)
      const isOver = this.#stop !== null || (this.#blocks.length > this.#index + 1 && isComplete(block))
      if (!isOver) return
      this.#end(block)
      this.#blocks[this.#index] = null
      this.#index++
    }
  }

  #fill(block: Block): void {
    if (!block.isBegun) this.#event('content_block_start', { index: this.#index, content_block: block.start })
    block.isBegun = true
    if (block.waiting === '') return
    this.#event('content_block_delta', { index: this.#index, delta: deltaOf(block) })
    block.waiting = ''
  }

  #end({ kind, signature = UNSIGNED }: Block): void {
    const index = this.#index
    if (kind === 'thinking') {
      this.#event('content_block_delta', { index, delta: { type: 'signature_delta', signature } })
    }
    this.#event('content_block_stop', { index })
  }

  #event(type: string, members: JsonObject): void {
    const json = JSON.stringify(members)
    const isAlone = json === '{}'
    this.#written += `event: ${type}\ndata: {"type":"${type}"${isAlone ? '' : ','}${json.slice(1)}\n\n`
  }

  #flush(): Buffer | null {
    if (this.#written === '') return null
    const bytes = Buffer.from(this.#written)
    this.#written = ''
    return bytes
  }
}

function deltaOf({ kind, waiting }: Block): JsonObject {
  switch (kind) {
    case 'text':
      return { type: 'text_delta', text: waiting }
    case 'thinking':
      return { type: 'thinking_delta', thinking: waiting }
    case 'tool_use':
      return { type: 'input_json_delta', partial_json: waiting }
    case 'redacted_thinking':
      throw new Error('a hidden thought has no pieces')
  }
}

function isComplete({ kind, input, json }: Block): boolean {
  return kind !== 'tool_use' || json.isComplete(input)
}
