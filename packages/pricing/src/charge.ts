/**
 * The price of a model's token on a plan, and the request's charge by it: whole milli-tokens of allowance, or whole nano-dollars.
 * Admission pins the price on the request.
 *
 * Invariants: exact (no sum passes through a fraction), rounded half up once per request, never above 2^53 - 1. There it stays: a
 * backend that reports an absurd count must neither throw in the path that meters nor leave the integers. The config schema keeps
 * every factor within the decimals that make prices whole: multipliers three, vendor rates six, calls nine.
 */

import type { HostedCalls } from '@gateway/contracts/hosted-tools'
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
  const perKiloCall = callsOf(model, plan)
  if (!plan.payAsYouGo) {
    return { kind: 'multiplier', milliTokensPerToken: Math.round(model.multiplier * MILLI_TOKENS), ...perKiloCall }
  }
  const nanoUsdPerKiloToken = Math.round(model.multiplier * BASE_RATE_USD_PER_MILLION * NANO_PER_KILO_TOKEN)
  return { kind: 'base', nanoUsdPerKiloToken, ...perKiloCall }
}

function directPrice(model: ServedModelConfig, plan: PlanConfig): Price {
  if (!plan.payAsYouGo) throw new Error(`the direct model ${model.id} has no price on the plan ${plan.slug}`)
  if (!model.rates) throw new Error(`the direct model ${model.id} has no rates`)
  const { longPrompt, source = OWN_RATES, asOf: date } = model.rates
  return {
    kind: 'rates',
    ...perKiloToken(model.rates),
    ...(longPrompt && { longPrompt: { aboveTokens: longPrompt.aboveTokens, ...perKiloToken(longPrompt) } }),
    ...callsOf(model, plan),
    ratesFrom: { source, ...(date && { date }) },
  }
}

/**
 * A plan that counts tokens pays for a call in tokens of the base rate: a cent is 3,333 of them. Free tools are left out, so most
 * prices have no such member.
 */
function callsOf({ toolUsdPerCall = {} }: ServedModelConfig, { payAsYouGo }: PlanConfig): Pick<Price, 'perKiloCall'> {
  const priced = Object.entries(toolUsdPerCall).filter(([, usd]) => usd > 0)
  if (priced.length === 0) return {}
  const perUsd = payAsYouGo ? NANO_PER_USD : (MILLION * MILLI_TOKENS) / BASE_RATE_USD_PER_MILLION
  return { perKiloCall: Object.fromEntries(priced.map(([tool, usd]) => [tool, Math.round(usd * KILO * perUsd)])) }
}

const MILLION = 1_000_000
const NANO_PER_USD = 1_000_000_000

type UsdPerMillion = Omit<VendorRates, 'longPrompt' | 'source' | 'asOf'>

function perKiloToken({
  inputUsdPerMillion: input,
  outputUsdPerMillion: output,
  cachedInputUsdPerMillion: cached = input,
  cacheWriteUsdPerMillion: write,
  cacheWriteHourUsdPerMillion: writeHour,
  audioInputUsdPerMillion: sound,
  cachedAudioInputUsdPerMillion: cachedSound = sound,
  audioOutputUsdPerMillion: spoken,
}: UsdPerMillion) {
  const nano = (usdPerMillion: number) => Math.round(usdPerMillion * NANO_PER_KILO_TOKEN)
  return {
    inputNanoUsdPerKiloToken: nano(input),
    outputNanoUsdPerKiloToken: nano(output),
    cachedNanoUsdPerKiloToken: nano(cached),
    ...(write !== undefined && { cacheWriteNanoUsdPerKiloToken: nano(write) }),
    ...(writeHour !== undefined && { cacheWriteHourNanoUsdPerKiloToken: nano(writeHour) }),
    ...(sound !== undefined && { audioInputNanoUsdPerKiloToken: nano(sound) }),
    ...(cachedSound !== undefined && { cachedAudioNanoUsdPerKiloToken: nano(cachedSound) }),
    ...(spoken !== undefined && { audioOutputNanoUsdPerKiloToken: nano(spoken) }),
  }
}

/** The counts that a charge needs; reasoning tokens are completion tokens and cost nothing more. */
type ChargedUsage = Pick<TokenUsage, 'promptTokens' | 'completionTokens' | 'cachedTokens'> & Partial<TokenUsage>

/** The charge in the unit of the price: milli-tokens for `multiplier`, nano-dollars for the others. */
export function chargeFor(price: Price, usage: ChargedUsage): number {
  const { promptTokens, completionTokens, toolCalls } = usage
  const calls = Object.entries(price.perKiloCall ?? {}).map(([tool, rate]): Part => [countOf(toolCalls, tool), rate])
  switch (price.kind) {
    case 'multiplier': {
      const rate = price.milliTokensPerToken * KILO
      return sumOf([[promptTokens, rate], [completionTokens, rate], ...calls])
    }
    case 'base': {
      const rate = price.nanoUsdPerKiloToken
      return sumOf([[promptTokens, rate], [completionTokens, rate], ...calls])
    }
    case 'rates': {
      const isLong = price.longPrompt !== undefined && promptTokens > price.longPrompt.aboveTokens
      return sumOf([...partsByKind(isLong ? price.longPrompt! : price, usage), ...calls])
    }
  }
}

function countOf(toolCalls: TokenUsage['toolCalls'], tool: string): number {
  return toolCalls !== undefined && Object.hasOwn(toolCalls, tool) ? toolCalls[tool]! : 0
}

type Rates = Pick<
  Extract<Price, { kind: 'rates' }>,
  Exclude<keyof Extract<Price, { kind: 'rates' }>, 'kind' | 'longPrompt' | 'ratesFrom' | 'perKiloCall'>
>

/** A backend that reports more tokens of a kind than it reports in all must not change the charge by thin air. */
function partsByKind(rates: Rates, { promptTokens, completionTokens, ...usage }: ChargedUsage): Part[] {
  const cached = Math.min(usage.cachedTokens, promptTokens)
  const written = Math.min(usage.cacheWriteTokens ?? 0, promptTokens - cached)
  const forAnHour = Math.min(usage.cacheWriteHourTokens ?? 0, written)
  const sound = Math.min(usage.audioPromptTokens ?? 0, promptTokens)
  // A cache holds text first, where the backend does not report its content.
  const leastCachedSound = Math.max(0, cached - (promptTokens - sound))
  const cachedSound = Math.max(leastCachedSound, Math.min(usage.cachedAudioTokens ?? 0, cached, sound))
  const newSound = Math.min(sound - cachedSound, promptTokens - cached - written)
  const spoken = Math.min(usage.audioCompletionTokens ?? 0, completionTokens)
  const rate = ratesByKind(rates)
  return [
    [promptTokens - cached - written - newSound, rate.input],
    [newSound, rate.sound],
    [cached - cachedSound, rate.cached],
    [cachedSound, rate.cachedSound],
    [written - forAnHour, rate.write],
    [forAnHour, rate.writeHour],
    [completionTokens - spoken, rate.output],
    [spoken, rate.spoken],
  ]
}

function ratesByKind(rates: Rates) {
  const {
    inputNanoUsdPerKiloToken: input,
    cachedNanoUsdPerKiloToken: cached,
    outputNanoUsdPerKiloToken: output,
  } = rates
  const { cacheWriteNanoUsdPerKiloToken: write = input } = rates
  return {
    ...{ input, cached, write, output },
    writeHour: rates.cacheWriteHourNanoUsdPerKiloToken ?? write,
    sound: rates.audioInputNanoUsdPerKiloToken ?? input,
    cachedSound: rates.cachedAudioNanoUsdPerKiloToken ?? cached,
    spoken: rates.audioOutputNanoUsdPerKiloToken ?? output,
  }
}

/** The bounds of a request. Without `mayHoldSound` all of it is text. */
export interface ChargeBounds {
  promptTokens: number
  maxOutputTokens: number
  mayHoldSound?: boolean
  /** Calls of tools that the vendor may run. */
  hosted?: HostedCalls
}

/**
 * The most that a request within these bounds can cost, whichever kinds its tokens are of. A charge is a sum over tokens and calls,
 * so it is greatest where each of them is of the dearest kind.
 */
export function worstCharge(price: Price, { promptTokens, maxOutputTokens, ...more }: ChargeBounds): number {
  const calls = dearestCalls(price.perKiloCall ?? {}, more.hosted)
  if (price.kind !== 'rates') {
    const rate = price.kind === 'multiplier' ? price.milliTokensPerToken * KILO : price.nanoUsdPerKiloToken
    return sumOf([[promptTokens, rate], [maxOutputTokens, rate], ...calls])
  }
  const { longPrompt } = price
  const ways = longPrompt && promptTokens > longPrompt.aboveTokens ? [price, longPrompt] : [price]
  const charges = ways.map((way) => {
    const { input, cached, write, writeHour, output, sound, cachedSound, spoken } = ratesByKind(way)
    const ofSound = more.mayHoldSound ? [sound, cachedSound] : []
    return sumOf([
      [promptTokens, Math.max(input, cached, write, writeHour, ...ofSound)],
      [maxOutputTokens, more.mayHoldSound ? Math.max(output, spoken) : output],
      ...calls,
    ])
  })
  return Math.max(...charges)
}

function dearestCalls(perKiloCall: NonNullable<Price['perKiloCall']>, hosted: HostedCalls | undefined): Part[] {
  if (hosted === undefined) return []
  let left = hosted.total
  const priced = Object.entries(hosted.calls).map(([tool, most]): Part => [most, perKiloCall[tool] ?? 0])
  return priced
    .toSorted(([, a], [, b]) => b - a)
    .map(([most, rate]) => {
      const taken = Math.min(most, left)
      left -= taken
      return [taken, rate]
    })
}

const KILO = 1_000

/** A count, and the rate of a thousand. */
type Part = [count: number, perKilo: number]

/** The sum of all parts, rounded half up. */
function sumOf(parts: readonly Part[]): number {
  const sum = parts.reduce((total, [count, rate]) => (count === 0 ? total : total + BigInt(count) * BigInt(rate)), 0n)
  const rounded = (sum * 2n + BigInt(KILO)) / BigInt(KILO * 2)
  return rounded > MAX_CHARGE ? Number.MAX_SAFE_INTEGER : Number(rounded)
}

const MAX_CHARGE = BigInt(Number.MAX_SAFE_INTEGER)

/**
 * The decimals between the system's whole numbers and the units that people read: allowance tokens with at most three, or US
 * dollars with nine.
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
  return `${digits.slice(0, -DECIMALS[unit])}.${digits.slice(-DECIMALS[unit])}`.replace(/(?:\.|(?<!0))0+$/, '')
}

/** A plan's limit or a top-up, as whole milli-tokens or nano-dollars; smaller fractions are rounded half up. */
export function fromPlanUnit(limit: number, unit: PlanUnit): number {
  return Math.round(limit * SMALLEST_PER_UNIT[unit])
}
