/**
 * Reads one chunk of a streamed chat completion: content or only a role, ends of choices, usage, an error. Backends
 * write usage alike into chunks, plain responses, embeddings and images.
 */

import { BackendFault } from './backend-fault.ts'
import { billedBeside } from './billed-beside.ts'
import { COMMON_FINISH_REASONS, type FinishReasons } from './finish-reasons.ts'
import { isObject, objectsOf, membersOf, plainNumber } from '@gateway/contracts/json'
import { MOST_TOKENS, type TokenUsage } from '@gateway/contracts/usage'

export type Chunk = Record<string, unknown>

/** Parses an event's data; anything but a JSON object is not a response. */
export function parseChunk(data: string): Chunk {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch (cause) {
    throw new BackendFault('invalid_answer', 'an event of the stream is not JSON', { cause })
  }
  if (!isObject(value)) throw new BackendFault('invalid_answer', 'an event of the stream is not an object')
  return value
}

export function writeChunk(chunk: Chunk): Buffer {
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`)
}

export function choicesOf(chunk: Chunk): Record<string, unknown>[] {
  return objectsOf(chunk.choices)
}

/** Text, reasoning, a tool call, a refusal, audio: any delta beyond the role that is not empty. */
export function hasContent(choice: Record<string, unknown>): boolean {
  if (!isObject(choice.delta)) return false
  for (const key in choice.delta) {
    if (key !== 'role' && !isEmpty(choice.delta[key])) return true
  }
  return false
}

function isEmpty(value: unknown): boolean {
  if (value == null || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

/** Some backends write an empty finish reason into every chunk. */
export function isFinished(choice: Record<string, unknown>): boolean {
  return typeof choice.finish_reason === 'string' && choice.finish_reason !== ''
}

/**
 * The number of choices that a streamed request wants. Nearly no request names `n`, so the body is parsed only when it
 * might. A scan for a letter takes a quarter of one for a quote.
 */
export function choicesRequested(body: Buffer): number {
  if (!body.includes('"n"') && !body.includes('n_cmpl"')) return 1
  const { n, n_cmpl: ofLlamaCpp } = JSON.parse(body.toString('utf8')) as { n?: unknown; n_cmpl?: unknown }
  return Math.max(1, ...[n, ofLlamaCpp].filter((count) => typeof count === 'number'))
}

/** The generated text of a delta or message, for counting tokens: content, reasoning, tool names and arguments. */
export function generatedText(part: unknown): string {
  if (!isObject(part)) return ''
  let text = textOf(part.content) + thoughtsOf(part)
  if (typeof part.refusal === 'string') text += part.refusal
  if (Array.isArray(part.tool_calls)) for (const call of part.tool_calls) text += calledFunctionText(call)
  return part.function_call ? text + calledFunctionText({ function: part.function_call }) : text
}

/** vLLM writes the same thoughts under both names (`DeltaMessage` in vllm/entrypoints/openai/protocol.py, since 0.11). */
export function thoughtsOf({ reasoning_content: content, reasoning, content: parts }: Chunk): string {
  return textOf(content) || textOf(reasoning) || (Array.isArray(parts) ? parts.map(thoughtIn).join('') : '')
}

/** Mistral's parts: `{"type":"thinking","thinking":[{"type":"text","text":"…"}]}` (its SDK's `ThinkChunk`). */
function thoughtIn(part: unknown): string {
  return isObject(part) && part.type === 'thinking' ? textOf(part.thinking) : ''
}

/** Mistral and some proxies write parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('')
}

function calledFunctionText(call: unknown): string {
  if (!isObject(call) || !isObject(call.function)) return ''
  const { name, arguments: args } = call.function
  return (typeof name === 'string' ? name : '') + (isObject(args) ? JSON.stringify(args) : textOf(args))
}

/**
 * The failure that a backend reports inside a 200, as an event or as a body. Other members beside it do not matter.
 *
 * The published forms: an `error` member (OpenAI, vLLM, SGLang), also beside choices; an `error` within a choice
 * (OpenRouter's types). vLLM before 0.10 writes `{"object":"error"}`. Some servers write a finish reason for their own
 * stop.
 */
export function errorIn(chunk: Chunk, reasons: FinishReasons = COMMON_FINISH_REASONS): BackendFault | null {
  if (isError(chunk.error)) return errorFault(chunk.error, chunk)
  if (chunk.object === 'error') return errorFault(chunk, { error: chunk })
  if (!Array.isArray(chunk.choices)) return null
  for (const choice of chunk.choices) {
    if (!isObject(choice)) continue
    if (isError(choice.error)) return errorFault(choice.error, { error: choice.error })
    const { finish_reason: reason } = choice
    if (typeof reason === 'string' && reasons.get(reason) === 'failure') return errorFault(undefined, {})
  }
  return null
}

/** The failure in an event that is named `error`; its data need not be JSON. */
export function errorEvent(data: string): BackendFault {
  let said: unknown
  try {
    said = JSON.parse(data)
  } catch {
    said = { message: data }
  }
  const error = isObject(said) && isError(said.error) ? said.error : said
  return errorFault(error, { error })
}

/** Some servers write the member into every response, and leave it empty. */
function isError(error: unknown): boolean {
  return error != null && error !== '' && error !== false
}

function errorFault(error: unknown, body: Chunk): BackendFault {
  const status = isObject(error) ? statusOf(error) : undefined
  return new BackendFault('error_event', 'the backend reported an error inside its answer', {
    ...(status === undefined ? {} : { status }),
    body: JSON.stringify(body),
  })
}

function statusOf(error: Record<string, unknown>): number | undefined {
  const code = typeof error.code === 'string' ? Number(error.code) : error.code
  if (typeof code === 'number' && Number.isInteger(code) && code >= 400 && code <= 599) return code
  return error.type === 'invalid_request_error' ? 400 : undefined
}

/** The way in which a vendor counts. */
export interface UsageRules {
  /**
   * It counts reasoning in `total_tokens` and not in `completion_tokens`, and charges it as output. The sum of another
   * server may be wrong, so it adds nothing to its parts.
   */
  countsReasoningInTotalAlone?: boolean
  /** The member of a streamed chunk that holds the usage, where it does not stand in the chunk itself. */
  streamMember?: string
}

/** Null where there is no usage to believe: absent, malformed, all zeros, or more than any request has. */
export function readUsage(value: unknown, rules: UsageRules = {}): TokenUsage | null {
  if (!isObject(value)) return null
  const promptTokens = count(value.prompt_tokens) ?? count(value.input_tokens)
  if (promptTokens === null) return null
  const reported = count(value.completion_tokens) ?? count(value.output_tokens)
  if (promptTokens > MOST_TOKENS || (reported ?? 0) > MOST_TOKENS) return null
  const isSumTrusted = reported === null || rules.countsReasoningInTotalAlone === true
  const completionTokens = Math.max(reported ?? 0, isSumTrusted ? sumOf(value) - promptTokens : 0)
  if (promptTokens + completionTokens === 0) return null
  const unreported = reported === null ? 0 : completionTokens - reported
  const cachedTokens = Math.min(promptTokens, cachedTokensOf(value))
  const cacheWriteTokens = Math.min(promptTokens - cachedTokens, count(promptDetailsOf(value).cache_write_tokens) ?? 0)
  return {
    promptTokens,
    completionTokens,
    cachedTokens,
    ...(cacheWriteTokens > 0 && { cacheWriteTokens }),
    ...billedBeside(value),
    reasoningTokens: Math.min(completionTokens, Math.max(reasoningTokensOf(value), unreported)),
    estimated: false,
  }
}

/** Since GPT-5.6 OpenAI reports its writes to its cache, and charges them above other input (coder/mux#3705, 2026-07-09). */
function promptDetailsOf(usage: Record<string, unknown>): Record<string, unknown> {
  const details = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : usage.input_tokens_details
  return membersOf(details)
}

function sumOf(usage: Record<string, unknown>): number {
  const sum = count(usage.total_tokens) ?? 0
  return sum > MOST_TOKENS ? 0 : sum
}

function cachedTokensOf(usage: Record<string, unknown>): number {
  const { prompt_cache_hit_tokens: ofDeepseek, cached_tokens: ofMoonshot } = usage
  return count(promptDetailsOf(usage).cached_tokens) ?? count(ofDeepseek) ?? count(ofMoonshot) ?? 0
}

function reasoningTokensOf(usage: Record<string, unknown>): number {
  const details = usage.completion_tokens_details ?? usage.output_tokens_details
  return (isObject(details) ? count(details.reasoning_tokens) : null) ?? 0
}

/** llama.cpp counts each choice by itself, and a whole response reports the first one's count (its server's source, 2026-11). */
export function countsOneChoice({ timings }: Record<string, unknown>): boolean {
  return isObject(timings) && typeof timings.predicted_n === 'number'
}

/** The OpenAI `usage` object for a response whose backend gave none. */
export function writeUsage(usage: TokenUsage, kind: 'chat' | 'embeddings' | 'images'): Record<string, number> {
  const total = usage.promptTokens + usage.completionTokens
  switch (kind) {
    case 'chat':
      return { prompt_tokens: usage.promptTokens, completion_tokens: usage.completionTokens, total_tokens: total }
    case 'embeddings':
      return { prompt_tokens: usage.promptTokens, total_tokens: total }
    case 'images':
      return { input_tokens: usage.promptTokens, output_tokens: usage.completionTokens, total_tokens: total }
  }
}

function count(reported: unknown): number | null {
  const value = plainNumber(reported)
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null
}
