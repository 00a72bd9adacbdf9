/**
 * A response of the Messages API as a chat completion, and the parts that a stream shares with it.
 */

import type { TokenUsage } from '@gateway/contracts/usage'
import { textOf } from '../../core/chat-chunk.ts'
import { isText } from '../../core/error-response.ts'
import { isObject, type JsonObject } from '@gateway/contracts/json'
import type { Identity } from '../../core/complete-response.ts'
import { keepsState, STATE, type PlacedValue } from '../../core/reasoning-state.ts'
import type { PlainResponse } from '../dialect.ts'
import { parseMessage, readMessagesUsage } from '../messages-to-messages/response.ts'
import { responseId } from '../../core/response-id.ts'
import { JsonText, type JsonBy, type Split } from './json-text.ts'
import { isState } from './kept-thoughts.ts'
import { OUTPUT_TOOL } from './tools.ts'

export function readMessage(bytes: Buffer, identity: Identity, by: JsonBy | null): PlainResponse {
  const { id, created, model } = identity
  const message = parseMessage(bytes)
  const blocks = (message.content as unknown[]).filter(isObject)
  const chatMessage = chatMessageOf(blocks, by, keepsState(identity))
  const refusal = refusalOf(message.stop_details)
  const usage = readMessagesUsage(message.usage)
  const json = {
    id: responseId('chat', isText(message.id) && message.id !== '' ? message.id : id),
    object: 'chat.completion',
    created,
    model: message.model || model,
    choices: [
      {
        index: 0,
        message: refusal === null ? chatMessage : { ...chatMessage, refusal },
        finish_reason: finishReasonOf(message.stop_reason, endedBy(blocks)),
      },
    ],
    ...(usage ? { usage: writeUsage(usage) } : {}),
  }
  return { bytes: Buffer.from(JSON.stringify(json)), json, usage }
}

function chatMessageOf(blocks: JsonObject[], by: JsonBy | null, keeps: boolean): JsonObject {
  const { content: text, thoughts: reasoning, states } = wordsOf(blocks, by)
  const calls = blocks.filter((block) => block.type === 'tool_use' && !isOutputCall(block))
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(toolCallOf) }),
    ...(keeps && states.length > 0 ? { [STATE]: states } : {}),
  }
}

/** In their order, as a stream reports them. */
function wordsOf(blocks: JsonObject[], by: JsonBy | null): Split & { states: PlacedValue[] } {
  const json = by === null && !blocks.some(isOutputCall) ? null : new JsonText(by ?? 'call')
  let [content, thoughts, calls] = ['', '', 0]
  const states: PlacedValue[] = []
  for (const block of blocks) {
    if (block.type === 'thinking') thoughts += textOf(block.thinking)
    if (isState(block)) states.push({ value: block, thoughts: thoughts.length, text: content.length, calls })
    if (block.type === 'text') {
      const words = textOf(block.text)
      const split = json?.take(words) ?? { content: words, thoughts: '' }
      content += split.content
      thoughts += split.thoughts
    } else if (json && isOutputCall(block)) {
      const call = json.beginCall()
      thoughts += call.thoughts
      if (call.isFirst) content += argumentsOf(block.input)
    } else if (block.type === 'tool_use') calls++
  }
  return { content: content + (json?.end() ?? ''), thoughts, states }
}

/** The call of our own tool, whose arguments are the response's text. */
export function isOutputCall({ type, name }: JsonObject): boolean {
  return type === 'tool_use' && name === OUTPUT_TOOL
}

/** The vendor's reason, where it gives one. */
export function refusalOf(details: unknown): string | null {
  if (!isObject(details) || details.type !== 'refusal') return null
  return isText(details.explanation) ? details.explanation : 'The model refused to answer'
}

function toolCallOf(block: JsonObject): JsonObject {
  return {
    id: block.id,
    type: 'function',
    function: { name: block.name, arguments: argumentsOf(block.input) },
  }
}

/** Some proxies write the text of them. */
export function argumentsOf(input: unknown): string {
  if (typeof input === 'string') return input.trim() === '' ? '{}' : input
  return JSON.stringify(input ?? {})
}

const FINISH_REASONS = new Map<unknown, string>(
  Object.entries({
    end_turn: 'stop',
    stop_sequence: 'stop',
    pause_turn: 'stop',
    tool_use: 'tool_calls',
    max_tokens: 'length',
    model_context_window_exceeded: 'length',
    refusal: 'content_filter',
  }),
)

export interface Called {
  /** Our own tool: the model had to respond by it, and has merely stopped. */
  output: boolean
  /** Tools of the client's. */
  tools: boolean
}

function endedBy(blocks: JsonObject[]): Called {
  return {
    output: blocks.some(isOutputCall),
    tools: blocks.some((block) => block.type === 'tool_use' && !isOutputCall(block)),
  }
}

export function finishReasonOf(stopReason: unknown, { output, tools }: Called): string {
  if (stopReason === 'tool_use' && output) return 'stop'
  const reason = FINISH_REASONS.get(stopReason) ?? 'stop'
  return reason === 'stop' && tools ? 'tool_calls' : reason
}

export function writeUsage(usage: TokenUsage): JsonObject {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    prompt_tokens_details: {
      cached_tokens: usage.cachedTokens,
      ...(usage.cacheWriteTokens && { cache_write_tokens: usage.cacheWriteTokens }),
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  }
}
