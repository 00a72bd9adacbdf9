import { servedModelConfig, planConfig } from '@gateway/contracts/config'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { priceFor } from './price.ts'

const limits = { limit: 1, rpm: 1, tpm: 1 }
const free = planConfig.parse({ slug: 'free', ...limits })
const payg = planConfig.parse({ slug: 'payg', unit: 'usd', payAsYouGo: true, ...limits })

const lane = (multiplier?: number) => servedModelConfig.parse({ id: 'm', type: 'chat', pool: 'p', multiplier })
const direct = (rates?: object) => servedModelConfig.parse({ id: 'm', type: 'chat', pool: 'p', direct: true, rates })

describe('the price of a lane', () => {
  test.each([
    [1, 1_000, 3_000_000],
    [1.25, 1_250, 3_750_000],
    [1.5, 1_500, 4_500_000],
    [2.3, 2_300, 6_900_000],
    [3.75, 3_750, 11_250_000],
    [6.7, 6_700, 20_100_000],
    [13.3, 13_300, 39_900_000],
    [0, 0, 0],
    [0.001, 1, 3_000],
  ])(
    '%sx takes %s milli-tokens per token, or %s nano-dollars per thousand on pay-as-you-go',
    (multiplier, milli, nano) => {
      expect(priceFor(lane(multiplier), free)).toEqual({ kind: 'multiplier', milliTokensPerToken: milli })
      expect(priceFor(lane(multiplier), payg)).toEqual({ kind: 'base', nanoUsdPerKiloToken: nano })
    },
  )

  test('every multiplier that the config accepts gives its exact price', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000 }), (milli) => {
        expect(priceFor(lane(milli / 1_000), free)).toEqual({ kind: 'multiplier', milliTokensPerToken: milli })
        expect(priceFor(lane(milli / 1_000), payg)).toEqual({ kind: 'base', nanoUsdPerKiloToken: milli * 3_000 })
      }),
    )
  })

  test('a lane without a multiplier is never served for free', () => {
    expect(() => priceFor(lane(), free)).toThrow('has no multiplier')
  })
})

describe('the price of a direct vendor model', () => {
  test('is its list rates on pay-as-you-go', () => {
    const model = direct({ inputUsdPerMillion: 1.25, outputUsdPerMillion: 10, cachedInputUsdPerMillion: 0.125 })
    expect(priceFor(model, payg)).toEqual({
      kind: 'rates',
      inputNanoUsdPerKiloToken: 1_250_000,
      outputNanoUsdPerKiloToken: 10_000_000,
      cachedNanoUsdPerKiloToken: 125_000,
      ratesFrom: { source: 'config' },
    })
  })

  test('names the list and the day that its rates are from', () => {
    const dated = { inputUsdPerMillion: 1, outputUsdPerMillion: 2, source: 'our contract', asOf: '2026-07-01' }
    expect(priceFor(direct(dated), payg)).toMatchObject({ ratesFrom: { source: 'our contract', date: '2026-07-01' } })
  })

  test('has the rates of long prompts where the vendor has them', () => {
    const long = { aboveTokens: 200_000, inputUsdPerMillion: 2.5, outputUsdPerMillion: 15 }
    expect(priceFor(direct({ inputUsdPerMillion: 1, outputUsdPerMillion: 2, longPrompt: long }), payg)).toMatchObject({
      inputNanoUsdPerKiloToken: 1_000_000,
      longPrompt: {
        aboveTokens: 200_000,
        inputNanoUsdPerKiloToken: 2_500_000,
        outputNanoUsdPerKiloToken: 15_000_000,
        cachedNanoUsdPerKiloToken: 2_500_000,
      },
    })
  })

  test('bills cached tokens as input where the vendor names no rate for them', () => {
    const price = priceFor(direct({ inputUsdPerMillion: 2.5, outputUsdPerMillion: 10 }), payg)
    expect(price).toMatchObject({ cachedNanoUsdPerKiloToken: 2_500_000 })
  })

  test('every rate with six decimals is exact', () => {
    const rate = fc.integer({ min: 0, max: 1_000_000_000_000 })
    fc.assert(
      fc.property(rate, rate, (input, output) => {
        const model = direct({ inputUsdPerMillion: input / 1e6, outputUsdPerMillion: output / 1e6 })
        expect(priceFor(model, payg)).toMatchObject({
          inputNanoUsdPerKiloToken: input,
          outputNanoUsdPerKiloToken: output,
        })
      }),
    )
  })

  test('does not exist on a plan that counts tokens, nor without rates', () => {
    expect(() => priceFor(direct({ inputUsdPerMillion: 1, outputUsdPerMillion: 1 }), free)).toThrow(
      'no price on the plan',
    )
    expect(() => priceFor(direct(), payg)).toThrow('has no rates')
  })
})
