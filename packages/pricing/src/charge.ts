/**
 * What a request costs: whole milli-tokens of allowance, or whole nano-dollars. Sums are exact integers; the one
 * rounding (half up, once per request) turns per-thousand-token rates into an amount.
 */

import type { Price, TokenUsage } from '@gateway/contracts/usage'

const TOKENS_PER_KILO = 1_000n

/** What `usage` costs at the pinned price. Throws where the amount would not be a safe integer. */
export function chargeFor(price: Price, usage: TokenUsage): number {
  const totalTokens = usage.promptTokens + usage.completionTokens
  switch (price.kind) {
    case 'multiplier':
      return toSafeNumber(BigInt(totalTokens) * BigInt(price.milliTokensPerToken))
    case 'base':
      return toSafeNumber(roundHalfUp(BigInt(totalTokens) * BigInt(price.nanoUsdPerKiloToken)))
    case 'rates': {
      const cachedTokens = Math.min(usage.cachedTokens, usage.promptTokens)
      const perKilo =
        BigInt(usage.promptTokens - cachedTokens) * BigInt(price.inputNanoUsdPerKiloToken) +
        BigInt(cachedTokens) * BigInt(price.cachedNanoUsdPerKiloToken) +
        BigInt(usage.completionTokens) * BigInt(price.outputNanoUsdPerKiloToken)
      return toSafeNumber(roundHalfUp(perKilo))
    }
  }
}

/** The most that a request can cost: no token of the prompt cached, every token of the answer's cap produced. */
export function worstCharge(price: Price, bound: { promptTokens: number; maxOutputTokens: number }): number {
  const inputIsCheaper = price.kind === 'rates' && price.cachedNanoUsdPerKiloToken > price.inputNanoUsdPerKiloToken
  return chargeFor(price, {
    promptTokens: bound.promptTokens,
    completionTokens: bound.maxOutputTokens,
    cachedTokens: inputIsCheaper ? bound.promptTokens : 0,
    reasoningTokens: 0,
    estimated: true,
  })
}

function roundHalfUp(perKilo: bigint): bigint {
  return (perKilo + TOKENS_PER_KILO / 2n) / TOKENS_PER_KILO
}

function toSafeNumber(amount: bigint): number {
  const value = Number(amount)
  if (!Number.isSafeInteger(value)) throw new RangeError(`a charge of ${amount} is beyond what can be counted exactly`)
  return value
}
