/**
 * What a token of a model costs on a plan, in whole numbers, pinned on a request when it is admitted.
 *
 * The config schema keeps every factor within the decimals that make these whole: multipliers three, vendor rates six.
 */

import type { PlanConfig, ServedModelConfig, VendorRates } from '@gateway/contracts/config'
import type { Price } from '@gateway/contracts/usage'

/** Pay-as-you-go: 3.00 US dollars per million tokens, times the multiplier. */
const BASE_RATE_USD_PER_MILLION = 3

/** One dollar per million tokens is this many nano-dollars per thousand. */
const NANO_PER_KILO_TOKEN = 1_000_000
const MILLI_TOKENS = 1_000

/** The source of rates that the operator wrote into the config without naming one. */
const OWN_RATES = 'config'

/** Throws where the two cannot go together; who is allowed which model is decided before. */
export function priceFor(model: ServedModelConfig, plan: PlanConfig): Price {
  if (model.direct) return directPrice(model, plan)
  if (model.multiplier === undefined) throw new Error(`the model ${model.id} has no multiplier`)
  if (!plan.payAsYouGo) {
    return { kind: 'multiplier', milliTokensPerToken: Math.round(model.multiplier * MILLI_TOKENS) }
  }
  const nanoUsdPerKiloToken = Math.round(model.multiplier * BASE_RATE_USD_PER_MILLION * NANO_PER_KILO_TOKEN)
  return { kind: 'base', nanoUsdPerKiloToken }
}

function directPrice(model: ServedModelConfig, plan: PlanConfig): Price {
  if (!plan.payAsYouGo) throw new Error(`the direct model ${model.id} has no price on the plan ${plan.slug}`)
  if (!model.rates) throw new Error(`the direct model ${model.id} has no rates`)
  const { longPrompt, source = OWN_RATES, asOf: date } = model.rates
  return {
    kind: 'rates',
    ...perKiloToken(model.rates),
    ...(longPrompt && { longPrompt: { aboveTokens: longPrompt.aboveTokens, ...perKiloToken(longPrompt) } }),
    ratesFrom: { source, ...(date && { date }) },
  }
}

type UsdPerMillion = Omit<VendorRates, 'longPrompt' | 'source' | 'asOf'>

function perKiloToken({
  inputUsdPerMillion: input,
  outputUsdPerMillion: output,
  cachedInputUsdPerMillion: cached = input,
  cacheWriteUsdPerMillion: write,
  cacheWriteHourUsdPerMillion: writeHour,
}: UsdPerMillion) {
  const nano = (usdPerMillion: number) => Math.round(usdPerMillion * NANO_PER_KILO_TOKEN)
  return {
    inputNanoUsdPerKiloToken: nano(input),
    outputNanoUsdPerKiloToken: nano(output),
    cachedNanoUsdPerKiloToken: nano(cached),
    ...(write !== undefined && { cacheWriteNanoUsdPerKiloToken: nano(write) }),
    ...(writeHour !== undefined && { cacheWriteHourNanoUsdPerKiloToken: nano(writeHour) }),
  }
}
