/**
 * Reads a request to Anthropic's Messages API as a chat request, and writes the response in that API's wire format
 * (docs.claude.com/en/api/messages, 2026-11-29).
 */

import type { ChatResponse } from './chat.ts'
import { type ChatRequest, readChatRequest } from './chat-request.ts'
import type { ChatStamp } from './chat-wire.ts'
import { isCount, isObject, isString, type JsonObject, Refusal, required } from './refusal.ts'

const ARGUMENT_PIECE = 12

export function readMessagesRequest(body: JsonObject): ChatRequest {
  const messages = body['messages']
  if (!Array.isArray(messages)) throw new Refusal('messages: Field required')
  const { system, thinking, tools, tool_choice: choice } = body
  const isThinking = isObject(thinking) && thinking['type'] !== 'disabled'
  return readChatRequest({
    model: required(body, 'model', 'a string', isString),
    messages: [
      ...(system == null ? [] : [{ role: 'system', content: textOf(system) }]),
      ...messages.flatMap((message, at) => messagesOf(message, `messages.${at}`)),
    ],
    max_tokens: required(body, 'max_tokens', 'an integer of at least 1', isCount),
    stop: body['stop_sequences'],
    reasoning_effort: isThinking ? 'medium' : 'none',
    tools: Array.isArray(tools) ? tools.filter(isObject).filter(isFunction).map(functionOf) : undefined,
    tool_choice: choiceOf(choice),
    stream: body['stream'],
  })
}

/** Tools of a type are the vendor's own. */
function isFunction({ type }: JsonObject): boolean {
  return type === undefined || type === 'custom'
}

function functionOf({ name, description, input_schema: parameters }: JsonObject): JsonObject {
  return { type: 'function', function: { name, description, parameters } }
}

function choiceOf(choice: unknown): unknown {
  if (!isObject(choice)) return undefined
  if (choice['type'] === 'tool') return { function: { name: choice['name'] } }
  return choice['type'] === 'any' ? 'required' : choice['type']
}

function messagesOf(message: unknown, param: string): JsonObject[] {
  if (!isObject(message)) throw new Refusal(`${param}: Input should be an object`)
  const { role, content } = message
  if (role !== 'user' && role !== 'assistant') throw new Refusal(`${param}.role: Input should be 'user' or 'assistant'`)
  if (isString(content)) return [{ role, content }]
  if (!Array.isArray(content)) throw new Refusal(`${param}.content: Input should be a string or a list`)
  const blocks = content.filter(isObject)
  const results = blocks.filter(({ type }) => type === 'tool_result')
  const calls = blocks.filter(({ type }) => type === 'tool_use')
  const parts = blocks.flatMap(partOf)
  const called = calls.map(({ id, name, input }) => {
    return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } }
  })
  return [
    ...results.map(({ tool_use_id: id, content: result }) => ({
      role: 'tool',
      tool_call_id: id,
      content: textOf(result),
    })),
    ...(parts.length > 0 || called.length > 0
      ? [{ role, content: parts, ...(called.length > 0 ? { tool_calls: called } : {}) }]
      : []),
  ]
}

function partOf({ type, text, source }: JsonObject): JsonObject[] {
  if (type === 'text') return [{ type, text }]
  if (type !== 'image' || !isObject(source)) return []
  const url = source['url'] ?? `data:${String(source['media_type'])};base64,${String(source['data'])}`
  return [{ type: 'image_url', image_url: { url } }]
}

function textOf(content: unknown): string {
  if (isString(content)) return content
  if (!Array.isArray(content)) return ''
  return content.map((block) => (isObject(block) && isString(block['text']) ? block['text'] : '')).join('\n')
}

const STOP_REASONS = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' } as const

interface Block {
  block: JsonObject
  opening: JsonObject
  deltas: JsonObject[]
}

function blocksOf({ choices: [choice] }: ChatResponse, stamp: ChatStamp): Block[] {
  const { reasoning, content, toolCalls } = choice!
  const blocks: Block[] = []
  if (reasoning.length > 0) {
    const signature = Buffer.from(`signed ${stamp.id}`).toString('base64')
    blocks.push({
      block: { type: 'thinking', thinking: reasoning.join(''), signature },
      opening: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        ...reasoning.map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature },
      ],
    })
  }
  if (content.length > 0) {
    blocks.push({
      block: { type: 'text', text: content.join('') },
      opening: { type: 'text', text: '' },
      deltas: content.map((text) => ({ type: 'text_delta', text })),
    })
  }
  for (const [at, { name, arguments: args }] of toolCalls.entries()) {
    const opening = { type: 'tool_use', id: `toolu_${stamp.id.slice(-12)}${at}`, name, input: {} }
    const pieces = Array.from({ length: Math.ceil(args.length / ARGUMENT_PIECE) }, (_, piece) => {
      return args.slice(piece * ARGUMENT_PIECE, (piece + 1) * ARGUMENT_PIECE)
    })
    blocks.push({
      block: { ...opening, input: JSON.parse(args) as unknown },
      opening,
      deltas: pieces.map((json) => ({ type: 'input_json_delta', partial_json: json })),
    })
  }
  return blocks
}

function messageOf({ id, model }: ChatStamp): JsonObject {
  return { id, type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null }
}

function usageOf({ usage }: ChatResponse): JsonObject {
  const cached = usage.prompt_tokens_details.cached_tokens
  return {
    input_tokens: usage.prompt_tokens - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: usage.completion_tokens,
  }
}

export function writeMessagesBody(reply: ChatResponse, stamp: ChatStamp): string {
  const content = blocksOf(reply, stamp).map(({ block }) => block)
  const ended = { stop_reason: STOP_REASONS[reply.choices[0]!.finishReason], usage: usageOf(reply) }
  return JSON.stringify({ ...messageOf(stamp), content, ...ended })
}

/** The events in order, each with its blank line. */
export function writeMessagesEvents(reply: ChatResponse, stamp: ChatStamp): string[] {
  const usage = usageOf(reply)
  const stop = { stop_reason: STOP_REASONS[reply.choices[0]!.finishReason], stop_sequence: null }
  const events: JsonObject[] = [
    { type: 'message_start', message: { ...messageOf(stamp), usage: { ...usage, output_tokens: 1 } } },
    ...blocksOf(reply, stamp).flatMap(({ opening, deltas }, index) => [
      { type: 'content_block_start', index, content_block: opening },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: stop, usage: { output_tokens: usage['output_tokens'] } },
    { type: 'message_stop' },
  ]
  return events.map((event) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`)
}
