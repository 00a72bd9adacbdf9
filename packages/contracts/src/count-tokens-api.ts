/**
 * Counts of tokens by a backend's own endpoint, for `POST /v1/messages/count_tokens`.
 */

import * as z from 'zod'

export const countTokensQuestion = z.object({
  pool: z.string(),
  /** The client's JSON object without `model`. */
  body: z.string(),
  requestId: z.string(),
  /** The client's headers of these names. */
  anthropicVersion: z.string().optional(),
  anthropicBeta: z.string().optional(),
  /** The other `anthropic-*` ones. */
  anthropicHeaders: z.record(z.string(), z.string()).optional(),
})
export type CountTokensQuestion = z.infer<typeof countTokensQuestion>

/** Null: the pool's best target has no such endpoint, or did not count in time. */
export const countTokensReply = z.object({ inputTokens: z.int().min(0).nullable() })
export type CountTokensReply = z.infer<typeof countTokensReply>
