import { readFileSync } from 'node:fs'
import { vendorRates } from '@gateway/contracts/config'
import { describe, expect, test } from 'vitest'
import { listRates, PRICE_LIST } from './list-rates.ts'

const chat = (ownedBy: string, id: string) => listRates({ id, ownedBy, type: 'chat' })
const from = { source: '@pydantic/genai-prices 0.1.8', asOf: '2026-09-23' }

test('the list is named as it is installed: an upgrade changes name and date together', () => {
  const manifest = new URL('../node_modules/@pydantic/genai-prices/package.json', import.meta.url)
  const { name, version } = JSON.parse(readFileSync(manifest, 'utf8')) as { name: string; version: string }
  expect(PRICE_LIST).toEqual({ source: `${name} ${version}`, asOf: from.asOf })
})

describe("a vendor's list rates", () => {
  test.each([
    ['openai', 'gpt-5', 1.25, 0.125, 10],
    ['openai', 'gpt-5-mini', 0.25, 0.025, 2],
    ['OpenAI', 'gpt-5', 1.25, 0.125, 10],
  ])('%s %s: input %s, cached %s, output %s dollars per million', (vendor, id, input, cached, output) => {
    expect(chat(vendor, id)).toEqual({
      rates: { inputUsdPerMillion: input, cachedInputUsdPerMillion: cached, outputUsdPerMillion: output, ...from },
      tools: { web_search: 0.01, file_search: 0.0025 },
    })
  })

  test('have those of sound, where it costs more than text', () => {
    expect(chat('google', 'gemini-2.5-flash')?.rates).toEqual({
      ...{ inputUsdPerMillion: 0.3, cachedInputUsdPerMillion: 0.03, outputUsdPerMillion: 2.5, ...from },
      ...{ audioInputUsdPerMillion: 1, cachedAudioInputUsdPerMillion: 0.1 },
    })
    expect(chat('openai', 'gpt-realtime')?.rates).toMatchObject({ audioOutputUsdPerMillion: 64 })
  })

  test.each([
    ['claude-sonnet-4-6', 3, 0.3, 3.75, 6, 15],
    ['claude-haiku-4-5', 1, 0.1, 1.25, 2, 5],
  ])(
    'anthropic %s: input %s, cached %s, written %s, for an hour %s, output %s',
    (id, input, cached, write, hour, output) => {
      expect(chat('anthropic', id)?.rates).toEqual({
        inputUsdPerMillion: input,
        cachedInputUsdPerMillion: cached,
        cacheWriteUsdPerMillion: write,
        cacheWriteHourUsdPerMillion: hour,
        outputUsdPerMillion: output,
        ...from,
      })
    },
  )

  test('have those of long prompts beside them', () => {
    expect(chat('google', 'gemini-2.5-pro')?.rates).toEqual({
      ...{ inputUsdPerMillion: 1.25, cachedInputUsdPerMillion: 0.125, outputUsdPerMillion: 10, ...from },
      longPrompt: {
        aboveTokens: 200_000,
        ...{ inputUsdPerMillion: 2.5, cachedInputUsdPerMillion: 0.25, outputUsdPerMillion: 15 },
      },
    })
  })

  test('of embeddings are for the input alone', () => {
    const listed = listRates({ id: 'text-embedding-3-small', ownedBy: 'openai', type: 'embeddings' })
    expect(listed?.rates).toEqual({ inputUsdPerMillion: 0.02, outputUsdPerMillion: 0, ...from })
  })

  test('are those of the day of the list; a change that it announces is reported', () => {
    expect(chat('openai', 'o3')?.rates).toMatchObject({ inputUsdPerMillion: 2, outputUsdPerMillion: 8 })
    expect(chat('openai', 'o3')?.changesOn).toBeUndefined()
    expect(chat('google', 'gemini-3.6-flash')).toMatchObject({
      rates: { inputUsdPerMillion: 0.75, outputUsdPerMillion: 3.75 },
      changesOn: '2027-01-01',
    })
  })

  test('fit the config schema, so that an operator can write the same', () => {
    for (const [vendor, id] of [
      ['openai', 'gpt-5.4'],
      ['google', 'gemini-2.5-pro'],
    ] as const)
      expect(vendorRates.safeParse(chat(vendor, id)?.rates).success).toBe(true)
  })
})

describe('has no rates', () => {
  test.each([
    ['a model that the list does not know', 'openai', 'gpt-99'],
    ["another vendor's model", 'openai', 'claude-sonnet-4-6'],
    ['a model of nobody known', 'svc', 'gpt-5'],
    ['a vendor that only resembles one', 'openai-reseller', 'gpt-5'],
    ['rates that change with the hour', 'deepseek', 'deepseek-chat'],
    ['a fee per request beside the tokens', 'perplexity', 'sonar'],
    ['searches that no answer counts', 'openai', 'gpt-4o-search-preview'],
    ['a rate of its own for reasoning', 'perplexity', 'sonar-deep-research'],
  ])('%s (%s %s)', (_, vendor, id) => {
    expect(chat(vendor, id)).toBeNull()
  })

  test('images, which are not billed by tokens of text', () => {
    expect(listRates({ id: 'gpt-5', ownedBy: 'openai', type: 'images' })).toBeNull()
  })
})
