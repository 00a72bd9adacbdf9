/**
 * The bounds of compactions within a request. A vendor may summarize the conversation before it responds, and bills that as a
 * request of its own: the prompt, and the summary. It looks at the prompt before each call of the model.
 */

import { isObject, type JsonObject, objectsOf, plainNumber } from '@gateway/contracts/json'
import type { ServedModelConfig } from '@gateway/contracts/config'
import { type CompactionBounds, DEFAULT_MAX_OUTPUT_TOKENS } from './estimate-tokens.ts'

/** Anthropic's least trigger; its default is a higher one (2026). */
const LEAST_TRIGGER_TOKENS = 50_000

type Bounds = (
  request: JsonObject,
  lane: ServedModelConfig,
  cap: number | null | undefined,
) => CompactionBounds | undefined

/** Of the Messages API: `context_management: { edits: [{ type: 'compact_…', trigger: { value } }] }`. */
export const compactionOfMessages: Bounds = (request, lane, cap) => {
  const { context_management: management } = request
  const edits = objectsOf(isObject(management) ? management.edits : undefined)
  const triggers = edits
    .filter(({ type }) => typeof type === 'string' && type.startsWith('compact'))
    .map(({ trigger }) => tokensOf(isObject(trigger) ? trigger.value : undefined) ?? LEAST_TRIGGER_TOKENS)
  return boundsOf(triggers, management, lane, cap)
}

/** Of the Responses API: `context_management: [{ type: 'compaction', compact_threshold }]`. */
export const compactionOfResponses: Bounds = (request, lane, cap) => {
  const { context_management: management } = request
  const thresholds = objectsOf(management)
    .filter(({ type }) => type === 'compaction')
    .map(({ compact_threshold: threshold }) => tokensOf(threshold) ?? 0)
  return boundsOf(thresholds, management, lane, cap)
}

function boundsOf(
  thresholds: readonly number[],
  management: unknown,
  { maxOutputTokens = DEFAULT_MAX_OUTPUT_TOKENS }: ServedModelConfig,
  cap: number | null | undefined,
): CompactionBounds | undefined {
  if (thresholds.length === 0) return undefined
  return {
    fromTokens: Math.min(...thresholds),
    promptTokens: Buffer.byteLength(JSON.stringify(management)),
    // No vendor says that the client's cap is the summary's, too.
    summaryTokens: Math.max(cap ?? 0, maxOutputTokens),
  }
}

function tokensOf(value: unknown): number | undefined {
  const tokens = plainNumber(value)
  return typeof tokens === 'number' ? tokens : undefined
}
