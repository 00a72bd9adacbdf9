/**
 * What one chunk of a streamed chat completion holds: content or only a role, ends of choices, usage, an error.
 */

import { BackendFault } from './backend-fault.ts'
import { isObject, objectsOf } from '@gateway/contracts/json'

export type Chunk = Record<string, unknown>

/** Parses an event's data; anything but a JSON object is not an answer. */
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
 * How many choices a streamed request asks for. Nearly none names `n`, so the body is parsed only when it might.
 */
export function choicesAsked(body: Buffer): number {
  if (!body.includes('"n"')) return 1
  const { n } = JSON.parse(body.toString('utf8')) as { n?: unknown }
  return typeof n === 'number' && n > 1 ? n : 1
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
 * The failure that a backend reports inside a 200, as an event or as a body, whatever else it writes beside it.
 *
 * The forms, as published: an `error` member (OpenAI, vLLM, SGLang); the same beside choices of which one has the finish
 * reason `error` (https://openrouter.ai/docs/api-reference/streaming, read in November 2026); an `error` within a choice
 * (OpenRouter's types); `{"object":"error"}` (vLLM before 0.10); a finish reason by which the server itself has stopped.
 */
export function errorIn(chunk: Chunk): BackendFault | null {
  if (isError(chunk.error)) return errorFault(chunk.error, chunk)
  if (chunk.object === 'error') return errorFault(chunk, { error: chunk })
  if (!Array.isArray(chunk.choices)) return null
  for (const choice of chunk.choices) {
    if (!isObject(choice)) continue
    if (isError(choice.error)) return errorFault(choice.error, { error: choice.error })
    if (FAILURES.has(choice.finish_reason)) return errorFault(undefined, {})
  }
  return null
}

/**
 * `abort`: an engine that shuts down or is paused (vllm-project/vllm#57082, 2026-09-15; SGLang has the same word).
 * `insufficient_system_resource`: DeepSeek's, of an interrupted answer (tetsuo-ai/agenc-core#2492, 2026-09-14).
 */
const FAILURES = new Set<unknown>(['error', 'abort', 'insufficient_system_resource'])

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

/** Some servers write the member into every answer, and leave it empty. */
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
