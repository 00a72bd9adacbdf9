/**
 * Token usage as backends write it, in the shapes of chat, embeddings and images.
 */

import { isObject, membersOf } from '@gateway/contracts/json'
import { MOST_TOKENS, type TokenUsage } from '@gateway/contracts/usage'

/**
 * Vendors that count reasoning in `total_tokens` and not in `completion_tokens`, and charge it as output: Gemini
 * (pydantic/pydantic-ai, recorded 2025-06-02), Vertex (cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/examples,
 * 2026-02-11), Google by its address, and xAI (docs.x.ai/docs/key-information/consumption-and-rate-limits, by vercel/ai#12425,
 * 2026-02-11). The sum of another server may be wrong, so it adds nothing to its parts.
 */
const REASONING_IN_SUM_ALONE = new Set(['gemini', 'vertex', 'google', 'xai'])

/** Null where there is no usage to believe: absent, malformed, all zeros, or more than any request has. */
export function readUsage(value: unknown, vendor = ''): TokenUsage | null {
  if (!isObject(value)) return null
  const promptTokens = count(value.prompt_tokens) ?? count(value.input_tokens)
  if (promptTokens === null) return null
  const told = count(value.completion_tokens) ?? count(value.output_tokens)
  if (promptTokens > MOST_TOKENS || (told ?? 0) > MOST_TOKENS) return null
  const isSumTrusted = told === null || REASONING_IN_SUM_ALONE.has(vendor)
  const completionTokens = Math.max(told ?? 0, isSumTrusted ? sumOf(value) - promptTokens : 0)
  if (promptTokens + completionTokens === 0) return null
  const untold = told === null ? 0 : completionTokens - told
  const cachedTokens = Math.min(promptTokens, cachedTokensOf(value))
  const cacheWriteTokens = Math.min(promptTokens - cachedTokens, count(promptDetailsOf(value).cache_write_tokens) ?? 0)
  return {
    promptTokens,
    completionTokens,
    cachedTokens,
    ...(cacheWriteTokens > 0 && { cacheWriteTokens }),
    reasoningTokens: Math.min(completionTokens, Math.max(reasoningTokensOf(value), untold)),
    estimated: false,
  }
}

/** Since GPT-5.6 OpenAI tells its writes to its cache, and charges them above other input (coder/mux#3705, 2026-07-09). */
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

/** The OpenAI `usage` object for an answer whose backend gave none. */
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

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null
}
