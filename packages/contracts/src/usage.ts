/**
 * Token counts of one attempt and the price of a token: the facts from which `pricing` computes a charge.
 */

import * as z from 'zod'

const count = z.int().min(0)

/** The most tokens of a prompt or a response. More is a backend's mistake: no request has so many. */
export const MOST_TOKENS = 1e9

/** Tokens of the attempt that the client saw. `cachedTokens` and `cacheWriteTokens` are parts of `promptTokens`. */
export const tokenUsage = z.object({
  promptTokens: count,
  completionTokens: count,
  cachedTokens: count.default(0),
  /** Set where the backend reports separately the tokens that it wrote to its cache. */
  cacheWriteTokens: count.optional(),
  /** Part of `cacheWriteTokens`: those that stay in the cache for an hour. */
  cacheWriteHourTokens: count.optional(),
  /**
   * Parts of `promptTokens`, `cachedTokens` and `completionTokens`: sound, where the backend counts its tokens
   * separately.
   */
  audioPromptTokens: count.optional(),
  cachedAudioTokens: count.optional(),
  audioCompletionTokens: count.optional(),
  /** Part of `completionTokens`. */
  reasoningTokens: count.default(0),
  /** Of the response; the backend may count their tokens, too. */
  images: count.optional(),
  /** Calls of tools that the vendor ran, by the tool's name. */
  toolCalls: z.record(z.string(), count).optional(),
  /** The operator's cost of the request as the vendor reports it, in nano-dollars. */
  vendorCostNanoUsd: count.optional(),
  /** The backend reported no usage, and the router counted with a tokenizer. */
  estimated: z.boolean().default(false),
})
export type TokenUsage = z.infer<typeof tokenUsage>

export const NO_TOKENS: TokenUsage = {
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  reasoningTokens: 0,
  estimated: false,
}

const ratesPerKiloToken = {
  inputNanoUsdPerKiloToken: count,
  outputNanoUsdPerKiloToken: count,
  cachedNanoUsdPerKiloToken: count,
  /** Where writing to the cache has a rate of its own; else it costs as other input. */
  cacheWriteNanoUsdPerKiloToken: count.optional(),
  /** For an hour; else as other writes. */
  cacheWriteHourNanoUsdPerKiloToken: count.optional(),
  /** Where sound has rates of its own; else it costs as text does. */
  audioInputNanoUsdPerKiloToken: count.optional(),
  cachedAudioNanoUsdPerKiloToken: count.optional(),
  audioOutputNanoUsdPerKiloToken: count.optional(),
}

/** The price of a thousand calls of a vendor's tools, by name, in the unit of the price. */
const perKiloCall = z.record(z.string(), count).optional()

/**
 * The price that a request was admitted at, pinned for its whole life.
 * `multiplier`: allowance milli-tokens per token (1x = 1000).
 * `base`: pay-as-you-go nano-dollars per thousand tokens: base rate x multiplier.
 * `rates`: nano-dollars per thousand tokens, by kind of token.
 */
export const price = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('multiplier'), milliTokensPerToken: count, perKiloCall }),
  z.object({ kind: z.literal('base'), nanoUsdPerKiloToken: count, perKiloCall }),
  z.object({
    kind: z.literal('rates'),
    ...ratesPerKiloToken,
    perKiloCall,
    /** Instead of the above, for the whole request, where its prompt has more tokens than `aboveTokens`. */
    longPrompt: z.object({ aboveTokens: count, ...ratesPerKiloToken }).optional(),
    /** The list that the rates were taken from, and its day where that is known. */
    ratesFrom: z.object({ source: z.string(), date: z.iso.date().optional() }).optional(),
  }),
])
export type Price = z.infer<typeof price>

/**
 * The number of the account's change that set its plan. Keys counts changes under the account's lock, so the later of
 * two plans is known without a clock. 0 where that is not known.
 */
export const planVersion = z.int().min(0)

/** The unit that a plan counts in: allowance milli-tokens, or nano-dollars. */
export const planUnit = z.enum(['tokens', 'usd'])
export type PlanUnit = z.infer<typeof planUnit>
