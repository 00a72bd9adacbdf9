/**
 * Computes the charge of a response from the plan's price of the model, with the ledger's own arithmetic.
 */

import type { QuotedPrice } from '@gateway/contracts/quote'
import type { PlanUnit, Price } from '@gateway/contracts/usage'
import { chargeFor, toPlanUnit } from '@gateway/pricing/charge'

export interface ResponseTokens {
  promptTokens: number
  completionTokens: number
  cachedTokens: number
  /** A part of the prompt, like the cached ones. */
  cacheWriteTokens: number
}

/** Returns the charge in the plan's unit. */
export function chargeOf(price: QuotedPrice, tokens: ResponseTokens): { amount: number; unit: PlanUnit } {
  const unit: PlanUnit = 'multiplier' in price ? 'tokens' : 'usd'
  return { amount: toPlanUnit(chargeFor(toPrice(price), tokens), unit), unit }
}

const NANO_PER_KILO_TOKEN = 1_000_000

function toPrice(price: QuotedPrice): Price {
  if ('multiplier' in price) return { kind: 'multiplier', milliTokensPerToken: Math.round(price.multiplier * 1_000) }
  if ('usd_per_million' in price) return { kind: 'base', nanoUsdPerKiloToken: nano(price.usd_per_million) }
  const { long_prompt: long } = price
  return {
    kind: 'rates',
    ...toRates(price),
    ...(long && { longPrompt: { aboveTokens: long.above_tokens, ...toRates(long) } }),
  }
}

type Rates = Pick<
  Extract<QuotedPrice, { input_usd_per_million: number }>,
  'input_usd_per_million' | 'cached_input_usd_per_million' | 'cache_write_usd_per_million' | 'output_usd_per_million'
>

function toRates(rates: Rates) {
  const { cache_write_usd_per_million: write } = rates
  return {
    ...(write !== undefined && { cacheWriteNanoUsdPerKiloToken: nano(write) }),
    inputNanoUsdPerKiloToken: nano(rates.input_usd_per_million),
    cachedNanoUsdPerKiloToken: nano(rates.cached_input_usd_per_million),
    outputNanoUsdPerKiloToken: nano(rates.output_usd_per_million),
  }
}

function nano(usdPerMillion: number): number {
  return Math.round(usdPerMillion * NANO_PER_KILO_TOKEN)
}
