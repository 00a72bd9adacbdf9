/**
 * A price as clients read it: in the units of the catalog and of vendors' price lists.
 */

import type { QuotedPrice } from '@gateway/contracts/quote'
import type { PlanUnit, Price } from '@gateway/contracts/usage'
import { toPlanUnit } from '@gateway/pricing/charge'

export function describePrice(price: Price): QuotedPrice {
  switch (price.kind) {
    case 'multiplier':
      return { multiplier: price.milliTokensPerToken / 1_000, tokens_per_call: perCall(price, 'tokens') }
    case 'base':
      return { usd_per_million: usdPerMillion(price.nanoUsdPerKiloToken), usd_per_call: perCall(price, 'usd') }
    case 'rates': {
      const { longPrompt, ratesFrom } = price
      return {
        ...describeRates(price),
        usd_per_call: perCall(price, 'usd'),
        ...(longPrompt && { long_prompt: { above_tokens: longPrompt.aboveTokens, ...describeRates(longPrompt) } }),
        ...(ratesFrom && { rates_from: ratesFrom }),
      }
    }
  }
}

/** Of tools that the vendor runs; undefined where there are none. */
function perCall({ perKiloCall }: Price, unit: PlanUnit): Record<string, number> | undefined {
  if (perKiloCall === undefined) return undefined
  return Object.fromEntries(
    Object.entries(perKiloCall).map(([tool, amount]) => [tool, toPlanUnit(amount, unit) / 1_000]),
  )
}

type Rates = Omit<Extract<Price, { kind: 'rates' }>, 'kind' | 'perKiloCall'>

function describeRates(rates: Rates) {
  const { cacheWriteNanoUsdPerKiloToken: write, cacheWriteHourNanoUsdPerKiloToken: writeHour } = rates
  const { audioInputNanoUsdPerKiloToken: sound, cachedAudioNanoUsdPerKiloToken: cachedSound } = rates
  const { audioOutputNanoUsdPerKiloToken: spoken } = rates
  return {
    input_usd_per_million: usdPerMillion(rates.inputNanoUsdPerKiloToken),
    cached_input_usd_per_million: usdPerMillion(rates.cachedNanoUsdPerKiloToken),
    ...(write !== undefined && { cache_write_usd_per_million: usdPerMillion(write) }),
    ...(writeHour !== undefined && { cache_write_hour_usd_per_million: usdPerMillion(writeHour) }),
    output_usd_per_million: usdPerMillion(rates.outputNanoUsdPerKiloToken),
    ...(sound !== undefined && { audio_input_usd_per_million: usdPerMillion(sound) }),
    ...(cachedSound !== undefined && { cached_audio_input_usd_per_million: usdPerMillion(cachedSound) }),
    ...(spoken !== undefined && { audio_output_usd_per_million: usdPerMillion(spoken) }),
  }
}

function usdPerMillion(nanoUsdPerKiloToken: number): number {
  return nanoUsdPerKiloToken / 1_000_000
}
