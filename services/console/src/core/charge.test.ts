import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Price } from '@gateway/contracts/usage'
import { chargeFor, toPlanUnit } from '@gateway/pricing/charge'
import { chargeOf } from './charge.ts'

const count = fc.nat(2_000_000)
const tokens = fc.record({ promptTokens: count, completionTokens: count, cachedTokens: count, cacheWriteTokens: count })

test('the page shows the same charge for a request as the ledger, to the last digit', () => {
  fc.assert(
    fc.property(tokens, fc.nat(1_000_000), (used, milliTokensPerToken) => {
      const price: Price = { kind: 'multiplier', milliTokensPerToken }
      expect(chargeOf({ multiplier: milliTokensPerToken / 1_000 }, used)).toEqual({
        unit: 'tokens',
        amount: toPlanUnit(chargeFor(price, used), 'tokens'),
      })
    }),
  )
  const rate = fc.nat(1_000_000_000)
  fc.assert(
    fc.property(tokens, rate, rate, rate, rate, count, (used, input, cached, write, output, aboveTokens) => {
      const rates = {
        inputNanoUsdPerKiloToken: input,
        cachedNanoUsdPerKiloToken: cached,
        cacheWriteNanoUsdPerKiloToken: write,
        outputNanoUsdPerKiloToken: output,
      }
      const quoted = {
        input_usd_per_million: input / 1_000_000,
        cached_input_usd_per_million: cached / 1_000_000,
        cache_write_usd_per_million: write / 1_000_000,
        output_usd_per_million: output / 1_000_000,
      }
      const price: Price = { kind: 'rates', ...rates, longPrompt: { aboveTokens, ...rates } }
      expect(chargeOf({ ...quoted, long_prompt: { above_tokens: aboveTokens, ...quoted } }, used)).toEqual({
        unit: 'usd',
        amount: toPlanUnit(chargeFor(price, used), 'usd'),
      })
    }),
  )
})
