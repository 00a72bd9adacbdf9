/**
 * A price as clients read it: in the units of the catalog and of vendors' price lists.
 */

import type { QuotedPrice } from '@gateway/contracts/quote'
import type { Price } from '@gateway/contracts/usage'

export function describePrice(price: Price): QuotedPrice {
  switch (price.kind) {
    case 'multiplier':
      return { multiplier: price.milliTokensPerToken / 1_000 }
    case 'base':
      return { usd_per_million: usdPerMillion(price.nanoUsdPerKiloToken) }
    case 'rates': {
      const { longPrompt, ratesFrom } = price
      return {
        ...describeRates(price),
        ...(longPrompt && { long_prompt: { above_tokens: longPrompt.aboveTokens, ...describeRates(longPrompt) } }),
        ...(ratesFrom && { rates_from: ratesFrom }),
      }
    }
  }
}

type Rates = Omit<Extract<Price, { kind: 'rates' }>, 'kind'>

function describeRates(rates: Rates) {
  const { cacheWriteNanoUsdPerKiloToken: write, cacheWriteHourNanoUsdPerKiloToken: writeHour } = rates
  return {
    input_usd_per_million: usdPerMillion(rates.inputNanoUsdPerKiloToken),
    cached_input_usd_per_million: usdPerMillion(rates.cachedNanoUsdPerKiloToken),
    ...(write !== undefined && { cache_write_usd_per_million: usdPerMillion(write) }),
    ...(writeHour !== undefined && { cache_write_hour_usd_per_million: usdPerMillion(writeHour) }),
    output_usd_per_million: usdPerMillion(rates.outputNanoUsdPerKiloToken),
  }
}

function usdPerMillion(nanoUsdPerKiloToken: number): number {
  return nanoUsdPerKiloToken / 1_000_000
}
