import { servedModelConfig } from '@gateway/contracts/config'
import { hostedTools } from '@gateway/contracts/hosted-tools'
import { describe, expect, test } from 'vitest'
import { listRates } from './list-rates.ts'
import { toolPricesOf } from './tool-prices.ts'

const model = (fields: object) => servedModelConfig.parse({ id: 'm', type: 'chat', pool: 'p', ...fields })
const direct = (ownedBy: string, id: string) => {
  const own = model({ id, ownedBy, direct: true })
  return toolPricesOf(own, listRates(own)?.tools)
}

describe('the price of a call of a vendor’s tool', () => {
  test('of a direct model is its vendor’s', () => {
    expect(direct('anthropic', 'claude-haiku-4-5')).toEqual({ web_search: 0.01, web_fetch: 0 })
    expect(direct('OpenAI', 'gpt-5')).toEqual({
      web_search: 0.01,
      file_search: 0.0025,
      code_interpreter: 0.03,
      mcp: 0,
    })
  })

  test('of a vendor whose tools report no count, or have no limit, is not known', () => {
    expect(['google', 'x-ai', 'perplexity', 'openrouter'].map((vendor) => direct(vendor, 'm'))).toEqual([
      ...[{}, {}, {}, {}],
    ])
  })

  test('follows the list of rates where that has another one for the model', () => {
    expect(toolPricesOf(model({ ownedBy: 'openai', direct: true }), { web_search: 0.02 })).toMatchObject({
      web_search: 0.02,
      file_search: 0.0025,
    })
  })

  test('of a lane is known for the tools that its operator allows, but for pictures, which another model draws', () => {
    expect(toolPricesOf(model({ multiplier: 1 }))).toEqual({})
    const all = toolPricesOf(model({ multiplier: 1, hostedTools: [...hostedTools] }))
    expect(Object.keys(all).toSorted()).toEqual(hostedTools.filter((tool) => tool !== 'image_generation').toSorted())
  })
})
