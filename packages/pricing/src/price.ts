/**
 * The price of a model on a plan, pinned when a request is admitted.
 */

import type { PlanConfig, ServedModelConfig } from '@gateway/contracts/config'
import type { Price } from '@gateway/contracts/usage'

/** The base rate of pay-as-you-go: 3.00 US dollars per million tokens, at a multiplier of 1. */
const BASE_NANO_USD_PER_KILO_TOKEN = 3_000_000

/** 1 US dollar per million tokens = 1,000,000 nano-dollars per thousand tokens. */
const NANO_USD_PER_KILO_TOKEN = 1_000_000

export function priceFor(model: ServedModelConfig, plan: PlanConfig): Price {
  if (model.direct) return listRates(model)
  const multiplier = model.multiplier ?? 1
  if (plan.payAsYouGo) {
    return { kind: 'base', nanoUsdPerKiloToken: Math.round(BASE_NANO_USD_PER_KILO_TOKEN * multiplier) }
  }
  return { kind: 'multiplier', milliTokensPerToken: Math.round(1_000 * multiplier) }
}

function listRates({ id, rates }: ServedModelConfig): Price {
  if (!rates) throw new Error(`the direct model ${id} has no rates`)
  const { inputUsdPerMillion, outputUsdPerMillion, cachedInputUsdPerMillion = inputUsdPerMillion } = rates
  return {
    kind: 'rates',
    inputNanoUsdPerKiloToken: Math.round(inputUsdPerMillion * NANO_USD_PER_KILO_TOKEN),
    outputNanoUsdPerKiloToken: Math.round(outputUsdPerMillion * NANO_USD_PER_KILO_TOKEN),
    cachedNanoUsdPerKiloToken: Math.round(cachedInputUsdPerMillion * NANO_USD_PER_KILO_TOKEN),
  }
}
