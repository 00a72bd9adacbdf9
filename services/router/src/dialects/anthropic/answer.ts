/**
 * A Messages answer as a chat completion, and the parts that a stream shares with it.
 */

import type { TokenUsage } from '@gateway/contracts/usage'
import { BackendFault } from '../../core/backend-fault.ts'
import { invalid, type JsonObject } from '../../core/plain-answer.ts'
import { isText } from '../../core/read-error-body.ts'
import { isObject } from '../../core/read-usage.ts'
import type { Identity } from '../../core/whole-record.ts'
import type { PlainAnswer } from '../dialect.ts'
import { ANSWER_TOOL } from './tools.ts'

export function readMessage(bytes: Buffer, { id, created, model }: Identity): PlainAnswer {
  const message = parseMessage(bytes)
  const blocks = (message.content as unknown[]).filter(isObject)
  const answer = chatMessageOf(blocks)
  const refusal = refusalOf(message.stop_details)
  const usage = usageOf(message.usage)
  const json = {
    id: message.id || id,
    object: 'chat.completion',
    created,
    model: message.model || model,
    choices: [
      {
        index: 0,
        message: refusal === null ? answer : { ...answer, refusal },
        finish_reason: finishReasonOf(message.stop_reason, blocks.some(isAnswer)),
      },
    ],
    ...(usage ? { usage: writeUsage(usage) } : {}),
  }
  return { bytes: Buffer.from(JSON.stringify(json)), json, usage }
}

function parseMessage(bytes: Buffer): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    throw new BackendFault('invalid_answer', 'the answer is not JSON', { cause })
  }
  if (!isObject(value)) throw invalid('the answer is not a JSON object')
  if (value.type === 'error' || isObject(value.error)) throw faultOf(value)
  if (!Array.isArray(value.content) || value.stop_reason == null) throw invalid('the answer is no finished message')
  return value
}

function chatMessageOf(blocks: JsonObject[]): JsonObject {
  const join = (type: string, field: string) =>
    blocks.flatMap((block) => (block.type === type && typeof block[field] === 'string' ? [block[field]] : [])).join('')
  const answers = blocks.filter(isAnswer).map(({ input }) => JSON.stringify(input ?? {}))
  const text = join('text', 'text') + answers.join('')
  const reasoning = join('thinking', 'thinking')
  const calls = blocks.filter((block) => block.type === 'tool_use' && !isAnswer(block))
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(toolCallOf) }),
  }
}

/** The call of our own tool, whose arguments are the answer's text. */
export function isAnswer({ type, name }: JsonObject): boolean {
  return type === 'tool_use' && name === ANSWER_TOOL
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
    function: { name: block.name, arguments: JSON.stringify(block.input ?? {}) },
  }
}

const FINISH_REASONS: Record<string, string> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
}

/** A model that was made to answer by our own tool has merely stopped. */
export function finishReasonOf(stopReason: unknown, hasAnswered: boolean): string {
  if (stopReason === 'tool_use' && hasAnswered) return 'stop'
  return FINISH_REASONS[String(stopReason)] ?? 'stop'
}

/** The fields of `usage` that count tokens. */
export const COUNTS = [
  'input_tokens',
  'output_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'output_tokens_details',
] as const

/** Tokens written to and read from the prompt cache are part of the prompt, here beside `input_tokens`. */
export function usageOf(value: unknown): TokenUsage | null {
  if (!isObject(value)) return null
  const input = count(value.input_tokens)
  const output = count(value.output_tokens)
  const cached = count(value.cache_read_input_tokens)
  const promptTokens = input + count(value.cache_creation_input_tokens) + cached
  if (promptTokens + output === 0) return null
  const details = isObject(value.output_tokens_details) ? value.output_tokens_details : {}
  const reasoningTokens = Math.min(output, count(details.thinking_tokens))
  return { promptTokens, completionTokens: output, cachedTokens: cached, reasoningTokens, estimated: false }
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0
}

export function writeUsage(usage: TokenUsage): JsonObject {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  }
}

const ERROR_STATUS: Record<string, number> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
}

/** Reads an event that is named `error`. A proxy in front of the API may write one that is no JSON. */
export function errorMessageOf(data: string): JsonObject {
  try {
    const value: unknown = JSON.parse(data)
    if (isObject(value)) return value
  } catch {
    // Told as text.
  }
  return { error: { message: data } }
}

/** The failure in an `error` event, or in an error body under a 200. */
export function faultOf(event: JsonObject): BackendFault {
  const error = isObject(event.error) ? event.error : {}
  const { type, message } = error
  return new BackendFault('error_event', 'the backend reported an error inside its answer', {
    status: ERROR_STATUS[String(type)] ?? 500,
    body: JSON.stringify({ error: { message, type, param: null, code: null } }),
  })
}
