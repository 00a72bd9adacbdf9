/**
 * Writes a response in the wire format of OpenAI's Responses API: one JSON body, or the events of a stream. The members
 * are those that OpenAI's service writes (platform.openai.com/docs/api-reference/responses, 2026-11-29).
 */

import type { ChatResponse, ChatUsage } from './chat.ts'
import type { ChatStamp } from './chat-wire.ts'
import { COMPACTED, readInput } from './responses-request.ts'
import { isObject, isString, type JsonObject, required } from './refusal.ts'
import { countTokens } from './tokens.ts'

/** Length of the pieces in which a call's arguments travel. */
const ARGUMENT_PIECE = 12
/** Members that older servers of the API do not know. */
const NEWER = new Set([
  ...['completed_at', 'frequency_penalty', 'max_tool_calls', 'presence_penalty', 'prompt_cache_key'],
  ...['safety_identifier', 'store', 'top_logprobs'],
])

export interface ResponsesShape {
  usage: boolean
  /** Writes as a server of 2025 does: newer members are missing, and those without a value are null. */
  isOlder: boolean
}

type Write = (changes: JsonObject) => JsonObject

/** All of a response, but for the changes. */
function writerOf(body: JsonObject, stamp: ChatStamp, { isOlder }: ResponsesShape): Write {
  const members = {
    id: stamp.id,
    object: 'response',
    created_at: stamp.created,
    status: 'in_progress',
    background: false,
    completed_at: null,
    error: null,
    frequency_penalty: body['frequency_penalty'] ?? 0,
    incomplete_details: null,
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    max_tool_calls: body['max_tool_calls'] ?? null,
    model: stamp.model,
    output: [],
    parallel_tool_calls: body['parallel_tool_calls'] ?? true,
    presence_penalty: body['presence_penalty'] ?? 0,
    previous_response_id: null,
    prompt_cache_key: body['prompt_cache_key'] ?? null,
    reasoning: { effort: null, summary: null },
    safety_identifier: body['safety_identifier'] ?? null,
    service_tier: 'default',
    store: body['store'] ?? true,
    temperature: body['temperature'] ?? 1,
    text: isOlder ? null : { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: toolsOf(body['tools'], isOlder),
    top_logprobs: body['top_logprobs'] ?? 0,
    top_p: body['top_p'] ?? 1,
    truncation: 'disabled',
    usage: null,
    user: null,
    metadata: body['metadata'] ?? {},
  }
  return (changes) => {
    const written = Object.entries({ ...members, ...changes })
    return Object.fromEntries(isOlder ? written.filter(([name]) => !NEWER.has(name)) : written)
  }
}

function toolsOf(tools: unknown, isOlder: boolean): unknown[] {
  if (!Array.isArray(tools)) return []
  const complete = { description: null, parameters: null, strict: true }
  return tools.map((tool: unknown) =>
    isObject(tool) && tool['type'] === 'function' && !isOlder ? { ...complete, ...tool } : tool,
  )
}

export function writeResponsesBody(
  reply: ChatResponse,
  body: JsonObject,
  stamp: ChatStamp,
  shape: ResponsesShape,
): string {
  const items = itemsOf(reply, stamp, shape).map(({ item }) => item)
  return JSON.stringify(writerOf(body, stamp, shape)(endOf(reply, items, stamp, shape)))
}

function endOf(reply: ChatResponse, output: JsonObject[], stamp: ChatStamp, { usage }: ResponsesShape): JsonObject {
  const isCut = reply.choices[0]!.finishReason === 'length'
  return {
    status: isCut ? 'incomplete' : 'completed',
    completed_at: isCut ? null : stamp.created,
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    output,
    usage: usage ? usageOf(reply.usage) : null,
  }
}

function usageOf(usage: ChatUsage): JsonObject {
  return {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: { cached_tokens: usage.prompt_tokens_details.cached_tokens },
    output_tokens: usage.completion_tokens,
    output_tokens_details: { reasoning_tokens: usage.completion_tokens_details.reasoning_tokens },
    total_tokens: usage.total_tokens,
  }
}

interface ResponsesUsage {
  input_tokens: number
  output_tokens: number
  total_tokens: number
}

interface WrittenItem {
  item: JsonObject
  /** As it begins. */
  opening: JsonObject
  /** The events between its begin and its end. */
  events: JsonObject[]
}

function itemsOf({ choices: [choice] }: ChatResponse, stamp: ChatStamp, { isOlder }: ResponsesShape): WrittenItem[] {
  const { reasoning, content, toolCalls, finishReason } = choice!
  const id = (kind: string, at: number) => `${kind}_${stamp.id.replace(/^resp_/, '')}${at}`
  const items: WrittenItem[] = []
  if (reasoning.length > 0) {
    const item = { id: id('rs', 0), type: 'reasoning', summary: [], ...(isOlder ? { encrypted_content: null } : {}) }
    items.push({ item, opening: item, events: [] })
  }
  if (content.length > 0) {
    const status = finishReason === 'length' ? 'incomplete' : 'completed'
    const message = {
      id: id('msg', items.length),
      type: 'message',
      role: 'assistant',
      ...(isOlder ? { phase: null } : {}),
    }
    items.push(messageOf(message, items.length, content, status))
  }
  for (const call of toolCalls) items.push(callOf(id, items.length, call))
  return items
}

function messageOf(message: JsonObject, position: number, content: string[], status: string): WrittenItem {
  const text = content.join('')
  const part = (said: string) => ({ type: 'output_text', annotations: [], logprobs: [], text: said })
  const place = { item_id: message['id'], output_index: position, content_index: 0 }
  return {
    item: { ...message, status, content: [part(text)] },
    opening: { ...message, status: 'in_progress', content: [] },
    events: [
      { type: 'response.content_part.added', ...place, part: part('') },
      ...content.map((delta) => ({
        type: 'response.output_text.delta',
        ...place,
        delta,
        logprobs: [],
        obfuscation: 'x'.repeat(16 - (delta.length % 16)),
      })),
      { type: 'response.output_text.done', ...place, text, logprobs: [] },
      { type: 'response.content_part.done', ...place, part: part(text) },
    ],
  }
}

function callOf(
  id: (kind: string, at: number) => string,
  position: number,
  called: { name: string; arguments: string },
): WrittenItem {
  const { name, arguments: args } = called
  const call = { id: id('fc', position), type: 'function_call', call_id: id('call', position), name }
  const place = { item_id: call.id, output_index: position }
  const pieces = Array.from({ length: Math.ceil(args.length / ARGUMENT_PIECE) }, (_, at) => {
    return args.slice(at * ARGUMENT_PIECE, (at + 1) * ARGUMENT_PIECE)
  })
  return {
    item: { ...call, status: 'completed', arguments: args },
    opening: { ...call, status: 'in_progress', arguments: '' },
    events: [
      ...pieces.map((delta) => ({ type: 'response.function_call_arguments.delta', ...place, delta })),
      { type: 'response.function_call_arguments.done', ...place, arguments: args },
    ],
  }
}

/** The events in order, each with its blank line. */
export function writeResponsesEvents(
  reply: ChatResponse,
  body: JsonObject,
  stamp: ChatStamp,
  shape: ResponsesShape,
): string[] {
  const write = writerOf(body, stamp, shape)
  const items = itemsOf(reply, stamp, shape)
  const end = endOf(
    reply,
    items.map(({ item }) => item),
    stamp,
    shape,
  )
  const events: JsonObject[] = [
    { type: 'response.created', response: write({}) },
    { type: 'response.in_progress', response: write({}) },
    ...items.flatMap(({ item, opening, events: within }, position) => [
      { type: 'response.output_item.added', output_index: position, item: opening },
      ...within,
      { type: 'response.output_item.done', output_index: position, item },
    ]),
    { type: `response.${String(end['status'])}`, response: write(end) },
  ]
  return events.map(({ type, ...rest }, number) => {
    return `event: ${String(type)}\ndata: ${JSON.stringify({ type, sequence_number: number, ...rest })}\n\n`
  })
}

/** The reply to `POST /v1/responses/compact`. Only this backend can read the item. */
export function writeCompaction(body: JsonObject, id: string): { json: string; usage: ResponsesUsage } {
  required(body, 'model', 'a string', isString)
  const text = JSON.stringify(readInput(body))
  const summary = `A conversation of ${countTokens(text)} tokens: ${text.slice(0, 2_000)}`
  const usage = { input_tokens: countTokens(text), output_tokens: countTokens(summary) }
  const item = {
    id: `cmp_${id}`,
    type: 'compaction',
    encrypted_content: Buffer.from(COMPACTED + summary).toString('base64'),
  }
  const counted = {
    ...usage,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: usage.input_tokens + usage.output_tokens,
  }
  return {
    json: JSON.stringify({
      id: `resp_${id}`,
      object: 'response.compaction',
      created_at: Math.floor(Date.now() / 1000),
      output: [item],
      usage: counted,
    }),
    usage: counted,
  }
}
