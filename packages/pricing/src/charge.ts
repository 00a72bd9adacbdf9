/**
 * What a request costs: whole milli-tokens of allowance, or whole nano-dollars.
 *
 * Invariants: exact (no sum passes through a fraction), rounded half up once per request, never above 2^53 - 1, where
 * it stays: a backend that reports an absurd count must neither throw in the path that meters nor leave the integers.
 */

import type { Price, TokenUsage } from '@gateway/contracts/usage'

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
    case 'rates': {
      // A backend that reports more cached tokens than prompt tokens must not earn a discount on thin air.
      const cached = Math.min(usage.cachedTokens, promptTokens)
      const { inputNanoUsdPerKiloToken, cachedNanoUsdPerKiloToken, outputNanoUsdPerKiloToken } =
        price.longPrompt && promptTokens > price.longPrompt.aboveTokens ? price.longPrompt : price
      return divide(
        [promptTokens - cached, cached, completionTokens],
        [inputNanoUsdPerKiloToken, cachedNanoUsdPerKiloToken, outputNanoUsdPerKiloToken],
        KILO,
      )
    }
  }
}

/** The most that a request within these bounds can cost, however many of its tokens turn out to be cached. */
export function worstCharge(price: Price, bounds: { promptTokens: number; maxOutputTokens: number }): number {
  const { promptTokens, maxOutputTokens: completionTokens } = bounds
  if (price.kind !== 'rates') return chargeFor(price, { promptTokens, completionTokens, cachedTokens: 0 })
  // Whichever side of a long prompt's limit costs more, and whether cached tokens are the cheaper or the dearer ones.
  const { longPrompt, ...short } = price
  const ways = [short, ...(longPrompt && promptTokens > longPrompt.aboveTokens ? [{ ...short, ...longPrompt }] : [])]
  return Math.max(
    ...ways.flatMap((way) =>
      [0, promptTokens].map((cachedTokens) => chargeFor(way, { promptTokens, completionTokens, cachedTokens })),
    ),
  )
}

const KILO = 1_000

/** The sum of `counts[i] * rates[i]`, over `divisor`, rounded half up. */
function divide(counts: number[], rates: number[], divisor: number): number {
  let sum = 0
  for (let i = 0; i < counts.length; i++) sum += counts[i]! * rates[i]!
  // Every product and partial sum below 2^53 is exact; one that is not shows as a sum that reaches it.
  if (sum > Number.MAX_SAFE_INTEGER) return divideLarge(counts, rates, divisor)
  const rest = sum % divisor
  return (sum - rest) / divisor + (rest * 2 >= divisor ? 1 : 0)
}

function divideLarge(counts: number[], rates: number[], divisor: number): number {
  const sum = counts.reduce((total, count, i) => total + BigInt(count) * BigInt(rates[i]!), 0n)
  const rounded = (sum * 2n + BigInt(divisor)) / BigInt(divisor * 2)
  return rounded > MAX_CHARGE ? Number.MAX_SAFE_INTEGER : Number(rounded)
}

const MAX_CHARGE = BigInt(Number.MAX_SAFE_INTEGER)
