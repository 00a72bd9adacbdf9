/**
 * Counts of tokens by backends' own endpoints, through a router. The edge keeps them for a while: a coding tool counts the same
 * prompt again and again.
 *
 * Null: no count came in time. Then the edge estimates. After a silent router it calls none for a while: one of the former
 * version does not know the procedure.
 */

import { createHash } from 'node:crypto'
import type { CountTokensQuestion, CountTokensReply } from '@gateway/contracts/count-tokens-api'

/** One message on the bus, less its frame. */
const LARGEST_BODY_BYTES = 256 * 1024
const MOST_KEPT = 1_000
const KEPT_MS = 300_000
const SILENCE_MS = 30_000

export type CountAtBackends = (question: CountTokensQuestion) => Promise<number | null>

export function openBackendCounts(
  call: (question: CountTokensQuestion) => Promise<CountTokensReply>,
  nowMs: () => number = () => performance.now(),
): CountAtBackends {
  /** The oldest first. */
  const kept = new Map<string, { inputTokens: number; untilMs: number }>()
  let silentUntilMs = -Infinity

  return async (question) => {
    if (Buffer.byteLength(question.body) > LARGEST_BODY_BYTES || silentUntilMs > nowMs()) return null
    const name = nameOf(question)
    const known = kept.get(name)
    if (known && known.untilMs > nowMs()) return known.inputTokens
    kept.delete(name)
    try {
      const { inputTokens } = await call(question)
      if (inputTokens === null) return null
      if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value!)
      kept.set(name, { inputTokens, untilMs: nowMs() + KEPT_MS })
      return inputTokens
    } catch {
      silentUntilMs = nowMs() + SILENCE_MS
      return null
    }
  }
}

function nameOf({ pool, body, anthropicVersion, anthropicBeta, anthropicHeaders }: CountTokensQuestion): string {
  const question = [pool, anthropicVersion, anthropicBeta, anthropicHeaders, body]
  return createHash('sha256').update(JSON.stringify(question)).digest('base64')
}
