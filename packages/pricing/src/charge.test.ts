import { servedModelConfig, planConfig } from '@gateway/contracts/config'
import type { Price, TokenUsage } from '@gateway/contracts/usage'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { chargeFor, priceFor, worstCharge, fromPlanUnit, toPlanUnit, writeInPlanUnit } from './charge.ts'

const multiplier = (milliTokensPerToken: number): Price => ({ kind: 'multiplier', milliTokensPerToken })
const base = (nanoUsdPerKiloToken: number): Price => ({ kind: 'base', nanoUsdPerKiloToken })
const rates = (input: number, output: number, cached: number): Price => ({
  kind: 'rates',
  inputNanoUsdPerKiloToken: input,
  outputNanoUsdPerKiloToken: output,
  cachedNanoUsdPerKiloToken: cached,
})
/** Claude's proportions: writing for five minutes costs 1.25 times the input, for an hour twice, reading a tenth. */
const claude = {
  ...rates(3_000_000, 15_000_000, 300_000),
  cacheWriteNanoUsdPerKiloToken: 3_750_000,
  cacheWriteHourNanoUsdPerKiloToken: 6_000_000,
}
const withLongPrompt = (short: Price, aboveTokens: number, long: Price): Price =>
  short.kind === 'rates' && long.kind === 'rates' ? { ...short, longPrompt: { ...long, aboveTokens } } : short
const longer = withLongPrompt(rates(1_000_000, 10_000_000, 100_000), 1_000, rates(2_000_000, 15_000_000, 200_000))
const used = (promptTokens: number, completionTokens: number, cachedTokens = 0, written = 0, forAnHour = 0) => ({
  promptTokens,
  completionTokens,
  cachedTokens,
  cacheWriteTokens: written,
  cacheWriteHourTokens: forAnHour,
})

/** Gemini's proportions. */
const gemini = {
  ...rates(300_000, 2_500_000, 30_000),
  audioInputNanoUsdPerKiloToken: 1_000_000,
  cachedAudioNanoUsdPerKiloToken: 100_000,
  audioOutputNanoUsdPerKiloToken: 12_000_000,
}
const searching = (price: Price): Price => ({ ...price, perKiloCall: { web_search: 10_000_000_000, file_search: 500 } })
const called = (web_search: number, more: object = {}) => ({ ...used(10, 20), toolCalls: { web_search, ...more } })
const withAudio = (audioPromptTokens: number, cachedAudioTokens?: number) => ({
  ...used(1_000, 10, 200),
  audioPromptTokens,
  ...(cachedAudioTokens === undefined ? {} : { cachedAudioTokens }),
})

describe('a charge', () => {
  test.each<[string, Price, ReturnType<typeof used> & Partial<TokenUsage>, number]>([
    ['five searches, a cent each', searching(rates(1_000_000, 5_000_000, 0)), called(5), 50_110_000],
    ['searches where they have no price', rates(1_000_000, 5_000_000, 0), called(5), 110_000],
    ['a tool that the price does not know', searching(base(0)), called(1, { constructor: 9 }), 10_000_000],
    ['half a unit for a call, rounded once with the tokens', searching(base(0)), called(0, { file_search: 1 }), 1],
    ['searches on the allowance', searching(multiplier(1_000)), called(1), 30_000 + 10_000_000],
    ['sound beside text', gemini, withAudio(900), 100 * 30 + 100 * 100 + 800 * 1_000 + 10 * 2_500],
    [
      'sound of which some is known to be cached',
      gemini,
      withAudio(500, 150),
      450 * 300 + 350 * 1_000 + 50 * 30 + 150 * 100 + 25_000,
    ],
    ['more cached sound than sound', gemini, withAudio(10, 999), 190 * 30 + 10 * 100 + 800 * 300 + 25_000],
    ['spoken answers', gemini, { ...used(0, 100), audioCompletionTokens: 60 }, 40 * 2_500 + 60 * 12_000],
    ['sound where it has no rate', rates(1_000_000, 0, 0), { ...used(10, 0), audioPromptTokens: 9 }, 10_000],
    ['1,000 tokens at 1x', multiplier(1_000), used(200, 800), 1_000_000],
    ['1,000 tokens at 13.3x', multiplier(13_300), used(200, 800), 13_300_000],
    ['one token at 3.75x', multiplier(3_750), used(1, 0), 3_750],
    ['no tokens', multiplier(13_300), used(0, 0), 0],
    ['cached tokens on the allowance, which are tokens as any', multiplier(1_000), used(10, 0, 10), 10_000],
    ['a million tokens at the base rate: three dollars', base(3_000_000), used(400_000, 600_000), 3_000_000_000],
    ['one token at the base rate', base(3_000_000), used(1, 0), 3_000],
    ['a vendor model by kind of token', rates(1_250_000, 10_000_000, 125_000), used(1_000, 100, 400), 1_800_000],
    ['writes to a cache, at their own rate', claude, used(1_000, 100, 400, 500), 3_795_000],
    ['writes for an hour, at theirs', claude, used(1_000, 100, 400, 500, 200), 4_245_000],
    ['writes where the model has no rate for them', rates(1_000_000, 0, 0), used(10, 0, 0, 5, 5), 10_000],
    ['more written than there is beside the cached', claude, used(10, 0, 4, 99, 999), 37_200],
    ['more cached than prompt tokens, which cannot be', rates(1_000_000, 0, 100_000), used(10, 0, 99), 1_000],
    ['a prompt as long as the usual rates reach', longer, used(1_000, 10, 200), 920_000],
    ['a longer one, billed as a whole at its own rates', longer, used(1_001, 10, 200), 1_792_000],
    ['499 thousandths, rounded down', rates(499, 0, 0), used(1, 0), 0],
    ['half, rounded up', rates(500, 0, 0), used(1, 0), 1],
    ['three halves that are rounded once and not each', rates(500, 500, 500), used(2, 1, 1), 2],
  ])('of %s is exact', (_, price, usage, charge) => {
    expect(chargeFor(price, usage)).toBe(charge)
  })

  test('stays exact where a product passes 2^53 on the way', () => {
    expect(chargeFor(rates(1_000_000_000_000, 1, 0), used(9_000, 500))).toBe(9_000_000_000_001)
    expect(chargeFor(rates(999_999_999_999, 1, 0), used(9_000_001, 501))).toBe(9_000_000_999_991_001)
  })

  test('stays at 2^53 - 1 when a backend reports an absurd count', () => {
    expect(chargeFor(multiplier(13_300), used(Number.MAX_SAFE_INTEGER, 1))).toBe(Number.MAX_SAFE_INTEGER)
  })
})

const count = fc.oneof(fc.nat(200_000), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }))
const rate = fc.oneof(fc.nat(50_000_000), fc.integer({ min: 0, max: 1_000_000_000_000 }))
const anyRates = fc
  .tuple(
    fc.tuple(rate, rate, rate),
    fc.record(
      {
        cacheWriteNanoUsdPerKiloToken: rate,
        cacheWriteHourNanoUsdPerKiloToken: rate,
        audioInputNanoUsdPerKiloToken: rate,
        cachedAudioNanoUsdPerKiloToken: rate,
        audioOutputNanoUsdPerKiloToken: rate,
      },
      { requiredKeys: [] },
    ),
  )
  .map(([of, more]): Price => ({ ...(rates(...of) as Extract<Price, { kind: 'rates' }>), ...more }))
const TOOLS = ['web_search', 'file_search', 'code_interpreter'] as const
const perKiloCall = fc.dictionary(fc.constantFrom(...TOOLS), fc.nat(2 ** 31 - 1))
const steadyPrice = fc
  .tuple(fc.oneof(fc.nat(1_000_000).map(multiplier), fc.nat(3_000_000_000).map(base), anyRates), perKiloCall)
  .map(([price, calls]): Price => ({ ...price, perKiloCall: calls }))
const anyPrice = fc.oneof(
  steadyPrice,
  fc.tuple(anyRates, count, anyRates).map((each) => withLongPrompt(...each)),
)
const toolCalls = fc.dictionary(fc.constantFrom(...TOOLS), fc.nat(1_000))
const sounds = fc.record(
  { audioPromptTokens: count, cachedAudioTokens: count, audioCompletionTokens: count, toolCalls },
  { requiredKeys: [] },
)
type Usage = ReturnType<typeof used> & Partial<TokenUsage>
const anyUsage = fc
  .tuple(fc.tuple(count, count, count, count, count), sounds)
  .map(([each, more]): Usage => ({ ...used(...each), ...more }))

/** The same sum in arbitrary precision: the definition that the fast one is held against. */
function exactCharge(price: Price, usage: Usage): number {
  const [prompt, completion] = [BigInt(usage.promptTokens), BigInt(usage.completionTokens)]
  const most = BigInt(Number.MAX_SAFE_INTEGER)
  const halfUp = (thousandths: bigint) => {
    const value = (thousandths + 500n) / 1_000n
    return Number(value > most ? most : value)
  }
  const ofCalls = Object.entries(price.perKiloCall ?? {}).reduce(
    (sum, [tool, rate]) => sum + BigInt(usage.toolCalls?.[tool] ?? 0) * BigInt(rate),
    0n,
  )
  if (price.kind === 'multiplier') {
    return halfUp((prompt + completion) * BigInt(price.milliTokensPerToken) * 1_000n + ofCalls)
  }
  if (price.kind === 'base') return halfUp((prompt + completion) * BigInt(price.nanoUsdPerKiloToken) + ofCalls)
  const { longPrompt = price } = price
  const at = usage.promptTokens > (price.longPrompt?.aboveTokens ?? Infinity) ? longPrompt : price
  const least = (...counts: bigint[]) => counts.reduce((a, b) => (a < b ? a : b))
  const greatest = (...counts: bigint[]) => counts.reduce((a, b) => (a > b ? a : b))
  const cached = least(BigInt(usage.cachedTokens), prompt)
  const written = least(BigInt(usage.cacheWriteTokens ?? 0), prompt - cached)
  const hour = least(BigInt(usage.cacheWriteHourTokens ?? 0), written)
  const sound = least(BigInt(usage.audioPromptTokens ?? 0), prompt)
  const text = prompt - sound
  const cachedSound = greatest(0n, cached - text, least(BigInt(usage.cachedAudioTokens ?? 0), cached, sound))
  const newSound = least(sound - cachedSound, prompt - cached - written)
  const spoken = least(BigInt(usage.audioCompletionTokens ?? 0), completion)
  const writeRate = at.cacheWriteNanoUsdPerKiloToken ?? at.inputNanoUsdPerKiloToken
  return halfUp(
    (prompt - cached - written - newSound) * BigInt(at.inputNanoUsdPerKiloToken) +
      newSound * BigInt(at.audioInputNanoUsdPerKiloToken ?? at.inputNanoUsdPerKiloToken) +
      (written - hour) * BigInt(writeRate) +
      hour * BigInt(at.cacheWriteHourNanoUsdPerKiloToken ?? writeRate) +
      (cached - cachedSound) * BigInt(at.cachedNanoUsdPerKiloToken) +
      cachedSound * BigInt(at.cachedAudioNanoUsdPerKiloToken ?? at.cachedNanoUsdPerKiloToken) +
      (completion - spoken) * BigInt(at.outputNanoUsdPerKiloToken) +
      spoken * BigInt(at.audioOutputNanoUsdPerKiloToken ?? at.outputNanoUsdPerKiloToken) +
      ofCalls,
  )
}

describe('for any price and any usage', () => {
  test('the charge equals that of arbitrary precision', () => {
    fc.assert(
      fc.property(anyPrice, anyUsage, (price, usage) => {
        expect(chargeFor(price, usage)).toBe(exactCharge(price, usage))
      }),
      { numRuns: 2_000 },
    )
  })

  test('more tokens or calls never cost less', () => {
    const textOf = ({ audioPromptTokens: _1, cachedAudioTokens: _2, ...usage }: Usage): Usage => usage
    fc.assert(
      fc.property(
        steadyPrice,
        anyUsage.map(textOf),
        fc.nat(1_000),
        fc.nat(1_000),
        (price, usage, morePrompt, moreCompletion) => {
          const more = {
            ...usage,
            promptTokens: Math.min(usage.promptTokens + morePrompt, Number.MAX_SAFE_INTEGER),
            completionTokens: Math.min(usage.completionTokens + moreCompletion, Number.MAX_SAFE_INTEGER),
            cachedTokens: Math.min(usage.cachedTokens, usage.promptTokens),
            toolCalls: { ...usage.toolCalls, web_search: (usage.toolCalls?.['web_search'] ?? 0) + moreCompletion },
          }
          expect(chargeFor(price, more)).toBeGreaterThanOrEqual(chargeFor(price, usage))
        },
      ),
    )
  })

  test('no request within its bounds costs more than the worst case that was reserved', () => {
    const spare = fc.tuple(fc.nat(10_000), fc.nat(10_000), fc.nat(3), fc.nat(5))
    fc.assert(
      fc.property(anyPrice, anyUsage, spare, (price, usage, [sparePrompt, spareOutput, spareCalls, spareTotal]) => {
        const calls = Object.fromEntries(
          Object.entries(usage.toolCalls ?? {}).map(([tool, made]) => [tool, made + spareCalls]),
        )
        const total = Object.values(usage.toolCalls ?? {}).reduce((sum, made) => sum + made, spareTotal)
        const holdsSound = usage.audioPromptTokens !== undefined || usage.audioCompletionTokens !== undefined
        const bounds = {
          promptTokens: Math.min(usage.promptTokens + sparePrompt, Number.MAX_SAFE_INTEGER),
          maxOutputTokens: Math.min(usage.completionTokens + spareOutput, Number.MAX_SAFE_INTEGER),
          mayHoldSound: holdsSound,
          ...(usage.toolCalls && { hosted: { calls, total } }),
        }
        expect(worstCharge(price, bounds)).toBeGreaterThanOrEqual(chargeFor(price, usage))
      }),
      { numRuns: 1_000 },
    )
  })

  test('the worst case of a request without sound has the rates of text', () => {
    const bounds = { promptTokens: 1_000, maxOutputTokens: 10 }
    expect(worstCharge(gemini, bounds)).toBe(1_000 * 300 + 10 * 2_500)
    expect(worstCharge(gemini, { ...bounds, mayHoldSound: true })).toBe(1_000 * 1_000 + 10 * 12_000)
  })

  test('calls beyond the limit of all together are not reserved', () => {
    const price: Price = { ...base(0), perKiloCall: { web_search: 10_000, file_search: 2_000 } }
    const hosted = { calls: { file_search: 5, web_search: 2 }, total: 4 }
    expect(worstCharge(price, { promptTokens: 0, maxOutputTokens: 0, hosted })).toBe(2 * 10 + 2 * 2)
  })
})

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

  test('with a tool that its operator allows has the price of a call, in dollars or in tokens of the base rate', () => {
    const searching = { ...lane(2), hostedTools: ['web_search' as const], toolUsdPerCall: { web_search: 0.01, mcp: 0 } }
    expect(priceFor(searching, payg)).toMatchObject({ perKiloCall: { web_search: 10_000_000_000 } })
    const price = priceFor(searching, free)
    expect(price).toMatchObject({ perKiloCall: { web_search: 3_333_333_333 } })
    expect(chargeFor(price, { ...used(0, 0), toolCalls: { web_search: 3 } })).toBe(10_000_000)
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

describe('the units that people read', () => {
  test.each([
    [0, 'tokens', '0'],
    [1_000, 'tokens', '1'],
    [13_300, 'tokens', '13.3'],
    [1, 'tokens', '0.001'],
    [50_000_000_000, 'tokens', '50000000'],
    [999_999_999_999_999, 'tokens', '999999999999.999'],
    [3_000_000_000, 'usd', '3'],
    [1_125_000, 'usd', '0.001125'],
    [3_000, 'usd', '0.000003'],
    [1_234_567_890_123, 'usd', '1234.567890123'],
  ] as const)('%s in %s is written %s', (amount, unit, written) => {
    expect(String(toPlanUnit(amount, unit))).toBe(written)
  })

  test('a header holds the same number, in digits alone', () => {
    fc.assert(
      fc.property(fc.nat(Number.MAX_SAFE_INTEGER), fc.constantFrom('tokens', 'usd'), (amount, unit) => {
        const written = writeInPlanUnit(amount, unit)
        expect(written).toMatch(/^\d+(?:\.\d*[1-9])?$/)
        expect(Number(written)).toBe(toPlanUnit(amount, unit))
      }),
    )
    expect(['tokens', 'usd'].map((unit) => writeInPlanUnit(10_000_000_000, unit as 'tokens' | 'usd'))).toEqual([
      '10000000',
      '10',
    ])
    expect(writeInPlanUnit(0, 'usd')).toBe('0')
  })

  test('no amount gets more decimals than its unit has', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e15 }), (amount) => {
        expect(Number(toPlanUnit(amount, 'tokens').toFixed(3))).toBe(toPlanUnit(amount, 'tokens'))
        expect(Number(toPlanUnit(amount, 'usd').toFixed(9))).toBe(toPlanUnit(amount, 'usd'))
      }),
    )
  })
})

describe('a limit', () => {
  test.each([
    [200_000, 'tokens', 200_000_000],
    [0.001, 'tokens', 1],
    [100, 'usd', 100_000_000_000],
    [0.1, 'usd', 100_000_000],
    [1.005, 'usd', 1_005_000_000],
  ] as const)('of %s %s is %s of the smallest unit', (limit, unit, amount) => {
    expect(fromPlanUnit(limit, unit)).toBe(amount)
  })

  test('comes back from the units that people read, to the last digit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e15 }), fc.constantFrom('tokens', 'usd'), (amount, unit) => {
        expect(fromPlanUnit(toPlanUnit(amount, unit), unit)).toBe(amount)
      }),
    )
  })
})
