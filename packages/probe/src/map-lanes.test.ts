import { describe, expect, test } from 'vitest'
import type { ListedModel } from './describe-server.ts'
import { choosePossible, mapLanes } from './map-lanes.ts'

const BILLION = 1e9

function chat(id: string, billions: number | null = null): ListedModel {
  return { id, does: 'chat', parameters: billions === null ? null : billions * BILLION, contextWindow: null }
}

function lanesOf(models: ListedModel[], skilled: { tools?: string[]; vision?: string[]; embeds?: string[] } = {}) {
  const { tools = [], vision = [], embeds = [] } = skilled
  const skills = { tools: new Set(tools), vision: new Set(vision), embeds: new Set(embeds) }
  return Object.fromEntries(mapLanes(models, skills).map(({ pool, model }) => [pool, model]))
}

describe('the lanes of a server', () => {
  test('one model serves all of them but those that it has no skill for', () => {
    const lanes = lanesOf([chat('gemma', 0.27)])
    expect(new Set(Object.values(lanes))).toEqual(new Set(['gemma']))
    expect(Object.keys(lanes).sort()).toEqual(['apex', 'atlas', 'bolt', 'code', 'nova', 'research', 'spark'])
  })

  test('a model with tools and eyes also gets the lanes of agents and of images', () => {
    expect(lanesOf([chat('qwen')], { tools: ['qwen'], vision: ['qwen'] })).toMatchObject({
      agent: 'qwen',
      vision: 'qwen',
    })
  })

  test('models of known size go from the smallest lane to the largest, in any order of the list', () => {
    const models = [chat('b:14b', 14), chat('a:4b', 4), chat('d:70b', 70), chat('c:32b', 32)]
    const expected = { spark: 'a:4b', bolt: 'b:14b', nova: 'c:32b', atlas: 'd:70b', apex: 'd:70b', code: 'c:32b' }
    expect(lanesOf(models)).toMatchObject(expected)
    expect(lanesOf(models.toReversed())).toMatchObject(expected)
  })

  test('a model for code gets the lane for code, and no other', () => {
    const lanes = lanesOf([chat('qwen3:8b', 8), chat('qwen2.5-coder:32b', 32)])
    expect(Object.entries(lanes).filter(([, model]) => model.includes('coder'))).toEqual([
      ['code', 'qwen2.5-coder:32b'],
    ])
  })

  test("of a vendor's many versions, the newest of each size serves, under its plain name", () => {
    const ids = ['gpt-5', 'gpt-5-2025-08-07', 'gpt-4o', 'gpt-4o-mini', 'gpt-5-mini', 'gpt-5-nano', 'gpt-4.1-nano']
    expect(lanesOf(ids.map((id) => chat(id)))).toMatchObject({
      spark: 'gpt-5-nano',
      bolt: 'gpt-5-mini',
      nova: 'gpt-5-mini',
      apex: 'gpt-5',
    })
  })

  test("Anthropic's names are of sizes, too", () => {
    const ids = [
      'claude-opus-4-6',
      'claude-sonnet-4-6',
      'claude-haiku-4-5-20251001',
      'claude-haiku-4-5',
      'claude-sonnet-4-5',
    ]
    expect(lanesOf(ids.map((id) => chat(id)))).toMatchObject({
      spark: 'claude-haiku-4-5',
      bolt: 'claude-sonnet-4-6',
      apex: 'claude-opus-4-6',
    })
  })

  test('only a model with fitting vectors gets the lanes of embeddings', () => {
    const embedding: ListedModel = { ...chat('nomic-embed-text'), does: 'embeddings' }
    expect(lanesOf([embedding])).toEqual({})
    expect(lanesOf([embedding], { embeds: ['nomic-embed-text'] })).toEqual({
      embed: 'nomic-embed-text',
      'embed-fast': 'nomic-embed-text',
    })
  })

  test('however many models a server lists, few are probed, and each lane gets one of those', () => {
    const models = Array.from({ length: 300 }, (_, index) => chat(`model-${index}:${index + 1}b`, index + 1))
    const possible = choosePossible(models)
    expect(possible.length).toBeLessThanOrEqual(5)
    const ids = possible.map(({ id }) => id)
    for (const model of Object.values(lanesOf(models))) expect(ids).toContain(model)
  })

  test('the lanes of the probed models are the lanes of all', () => {
    const models = Array.from({ length: 9 }, (_, index) => chat(`m:${index + 1}b`, index + 1))
    expect(lanesOf(choosePossible(models))).toEqual(lanesOf(models))
  })
})
