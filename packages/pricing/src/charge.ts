/**
 * The price of a model's token on a plan, pinned on a request when it is admitted, and the request's charge by it: whole
 * milli-tokens of allowance, or whole nano-dollars.
 *
 * Invariants: exact (no sum passes through a fraction), rounded half up once per request, never above 2^53 - 1, where
 * it stays: a backend that reports an absurd count must neither throw in the path that meters nor leave the integers.
 * The config schema keeps every factor within the decimals that make prices whole: multipliers three, vendor rates six.
 */

import type { PlanConfig, ServedModelConfig, VendorRates } from '@gateway/contracts/config'
import type { Price, TokenUsage, PlanUnit } from '@gateway/contracts/usage'

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

/** What a usage must hold to be charged; reasoning tokens are completion tokens and cost nothing more. */
type ChargedUsage = Pick<TokenUsage, 'promptTokens' | 'completionTokens' | 'cachedTokens'> & Partial<TokenUsage>

/** The charge in the unit of the price: milli-tokens for `multiplier`, nano-dollars for the others. */
export function chargeFor(price: Price, usage: ChargedUsage): number {
  const { promptTokens, completionTokens } = usage
  switch (price.kind) {
    case 'multiplier':
      return divide([promptTokens, completionTokens], [price.milliTokensPerToken, price.milliTokensPerToken], 1)
    case 'base':
      return divide([promptTokens, completionTokens], [price.nanoUsdPerKiloToken, price.nanoUsdPerKiloToken], KILO)
    case 'rates':
      return chargeByKind(
        price.longPrompt && promptTokens > price.longPrompt.aboveTokens ? price.longPrompt : price,
        usage,
      )
  }
}

type Rates = Omit<Extract<Price, { kind: 'rates' }>, 'kind'>

/** A backend that reports more tokens of a kind than it reports in all must not change the charge by thin air. */
function chargeByKind(rates: Rates, { promptTokens, completionTokens, ...usage }: ChargedUsage): number {
  const cached = Math.min(usage.cachedTokens, promptTokens)
  const written = Math.min(usage.cacheWriteTokens ?? 0, promptTokens - cached)
  const forAnHour = Math.min(usage.cacheWriteHourTokens ?? 0, written)
  const { inputNanoUsdPerKiloToken: input, cacheWriteNanoUsdPerKiloToken: write = input } = rates
  return divide(
    [promptTokens - cached - written, cached, written - forAnHour, forAnHour, completionTokens],
    [
      input,
      rates.cachedNanoUsdPerKiloToken,
      write,
      rates.cacheWriteHourNanoUsdPerKiloToken ?? write,
      rates.outputNanoUsdPerKiloToken,
    ],
    KILO,
  )
}

/** The most that a request within these bounds can cost, however many of its tokens come from a cache or go to it. */
export function worstCharge(price: Price, bounds: { promptTokens: number; maxOutputTokens: number }): number {
  const { promptTokens, maxOutputTokens: completionTokens } = bounds
  if (price.kind !== 'rates') return chargeFor(price, { promptTokens, completionTokens, cachedTokens: 0 })
  // Whichever side of a long prompt's limit costs more, and whichever kind of its tokens.
  const { longPrompt, ...short } = price
  const ways = [short, ...(longPrompt && promptTokens > longPrompt.aboveTokens ? [{ ...short, ...longPrompt }] : [])]
  const kinds = [
    { cachedTokens: 0 },
    { cachedTokens: promptTokens },
    { cachedTokens: 0, cacheWriteTokens: promptTokens },
    { cachedTokens: 0, cacheWriteTokens: promptTokens, cacheWriteHourTokens: promptTokens },
  ]
  return Math.max(
    ...ways.flatMap((way) => kinds.map((kind) => chargeFor(way, { promptTokens, completionTokens, ...kind }))),
  )
}

const KILO = 1_000

/** The sum of `counts[i] * rates[i]`, over `divisor`, rounded half up. */
function divide(counts: number[], rates: number[], divisor: number): number {
  const sum = counts.reduce((total, count, i) => total + BigInt(count) * BigInt(rates[i]!), 0n)
  const rounded = (sum * 2n + BigInt(divisor)) / BigInt(divisor * 2)
  return rounded > MAX_CHARGE ? Number.MAX_SAFE_INTEGER : Number(rounded)
}

const MAX_CHARGE = BigInt(Number.MAX_SAFE_INTEGER)

/**
 * Between the whole numbers that the system counts in and the units that people read: allowance tokens with three
 * decimals at most, or US dollars with nine.
 */
const DECIMALS: Record<PlanUnit, number> = { tokens: 3, usd: 9 }
const SMALLEST_PER_UNIT: Record<PlanUnit, number> = { tokens: 1_000, usd: 1_000_000_000 }

/** For bodies. One correctly rounded division, so the shortest decimal that names the amount is written. */
export function toPlanUnit(amount: number, unit: PlanUnit): number {
  return amount / SMALLEST_PER_UNIT[unit]
}

/** For headers: never with an exponent, as JavaScript writes a ten-millionth of a dollar. */
export function writeInPlanUnit(amount: number, unit: PlanUnit): string {
  const digits = String(amount).padStart(DECIMALS[unit] + 1, '0')
  return `${digits.slice(0, -DECIMALS[unit])}.${digits.slice(-DECIMALS[unit])}`.replace(/\.?0+$/, '')
}

/** A plan's limit or a top-up, as whole milli-tokens or nano-dollars; smaller fractions are rounded half up. */
export function fromPlanUnit(limit: number, unit: PlanUnit): number {
  return Math.round(limit * SMALLEST_PER_UNIT[unit])
}
