/**
 * A whole response of the Messages API, and token usage as the API writes it. Tokens read from and written to the cache
 * stand beside `input_tokens`.
 */

import { parseExactly, plainNumber, type JsonObject, isObject, membersOf, objectsOf } from '@gateway/contracts/json'
import { MOST_TOKENS, type TokenUsage } from '@gateway/contracts/usage'
import { billedBeside, type ToolCalls } from '../../core/billed-beside.ts'
import { invalid, parseObject } from '../../core/plain-response.ts'
import { addText, noText } from '../dialect.ts'
import { faultOf } from './errors.ts'

export function parseMessage(bytes: Buffer): JsonObject {
  const value = parseObject(bytes, parseExactly)
  if (value.type === 'error' || isObject(value.error)) throw faultOf(value)
  if (!Array.isArray(value.content) || value.stop_reason == null) throw invalid('the answer is no finished message')
  return value
}

/** All that was generated, for counting tokens where the backend did not. */
export function textOfMessage({ content }: JsonObject): string {
  const text = noText()
  for (const block of (content as unknown[]).filter(isObject)) {
    for (const field of ['text', 'thinking', 'name']) if (typeof block[field] === 'string') addText(text, block[field])
    if (isObject(block.input)) addText(text, JSON.stringify(block.input))
  }
  return text.kept
}

/** The fields that count tokens. */
export const COUNTS = [
  'input_tokens',
  'output_tokens',
  'cache_creation_input_tokens',
  'cache_creation',
  'cache_read_input_tokens',
  'output_tokens_details',
  'iterations',
  'server_tool_use',
] as const

/** Entries that stand beside the sums, and not in them (the types of `@anthropic-ai/sdk` 1.12, 2026). */
const APART = new Set<unknown>(['compaction', 'advisor_message'])

/** Null where nothing is counted, or more than any request has. */
export function readMessagesUsage(reported: unknown): TokenUsage | null {
  const value = isObject(reported) ? withApart(reported) : null
  if (value === null || COUNTS.some((name) => isTooMany(value[name]))) return null
  const completionTokens = count(value.output_tokens)
  const cachedTokens = count(value.cache_read_input_tokens)
  const cacheWriteTokens = count(value.cache_creation_input_tokens)
  const promptTokens = count(value.input_tokens) + cacheWriteTokens + cachedTokens
  if (promptTokens + completionTokens === 0 || promptTokens > MOST_TOKENS) return null
  const written = membersOf(value.cache_creation)
  const cacheWriteHourTokens = Math.min(cacheWriteTokens, count(written.ephemeral_1h_input_tokens))
  const details = membersOf(value.output_tokens_details)
  const reasoningTokens = Math.min(completionTokens, count(details.thinking_tokens))
  const usage = { promptTokens, completionTokens, cachedTokens, reasoningTokens, estimated: false }
  return {
    ...usage,
    ...(cacheWriteTokens > 0 && { cacheWriteTokens }),
    ...(cacheWriteHourTokens > 0 && { cacheWriteHourTokens }),
    ...billedBeside(value),
  }
}

function isTooMany(reported: unknown): boolean {
  const value = plainNumber(reported)
  return typeof value === 'number' && value > MOST_TOKENS
}

function withApart(usage: JsonObject): JsonObject {
  const entries = objectsOf(usage.iterations)
  const apart = entries.filter(({ type }) => APART.has(type))
  if (apart.length === 0) return usage
  const sum = (name: string) => [usage, ...apart].reduce((all, entry) => all + count(entry[name]), 0)
  return { ...usage, ...Object.fromEntries(SUMS.map((name) => [name, sum(name)])) }
}

const SUMS = ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens']

function count(reported: unknown): number {
  const value = plainNumber(reported)
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0
}

/** Writes the usage of a whole message. */
export function writeMessagesUsage(usage: TokenUsage): JsonObject {
  const { cacheWriteTokens = 0, cacheWriteHourTokens = 0 } = usage
  const written = {
    ephemeral_5m_input_tokens: cacheWriteTokens - cacheWriteHourTokens,
    ephemeral_1h_input_tokens: cacheWriteHourTokens,
  }
  return {
    ...writeDeltaUsage(usage),
    ...(cacheWriteTokens > 0 ? { cache_creation: written } : {}),
  }
}

/** Writes the usage of the event that ends a message. */
export function writeDeltaUsage(usage: TokenUsage): JsonObject {
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens = 0, reasoningTokens, toolCalls } = usage
  return {
    input_tokens: Math.max(0, promptTokens - cachedTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
    ...(toolCalls ? { server_tool_use: writeToolCalls(toolCalls) } : {}),
  }
}

function writeToolCalls({ web_search = 0, web_fetch = 0 }: ToolCalls): JsonObject {
  return { web_search_requests: web_search, web_fetch_requests: web_fetch }
}
