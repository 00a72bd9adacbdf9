import fc from 'fast-check'
import { tokenUsage } from '@gateway/contracts/usage'
import { describe, expect, test } from 'vitest'
import { billedBeside, callsOfResponse } from './billed-beside.ts'
import { readUsage } from './chat-chunk.ts'

describe('a vendor’s usage reports the items that it bills beside the tokens', () => {
  test.each<[string, object, object]>([
    ['nothing', { prompt_tokens: 1 }, {}],
    [
      'sound',
      { prompt_tokens_details: { audio_tokens: 9 }, completion_tokens_details: { audio_tokens: 4 } },
      { audioPromptTokens: 9, audioCompletionTokens: 4 },
    ],
    [
      'sound from the cache',
      { input_tokens_details: { audio_tokens: 9, cached_tokens_details: { audio_tokens: 3, text_tokens: 1 } } },
      { audioPromptTokens: 9, cachedAudioTokens: 3 },
    ],
    [
      'Anthropic’s searches',
      { server_tool_use: { web_search_requests: 5, web_fetch_requests: 0 } },
      { toolCalls: { web_search: 5 } },
    ],
    [
      'xAI’s calls, its sources and its ticks',
      {
        server_side_tool_usage_details: { web_search_calls: 2, x_search_calls: 1, code_interpreter_calls: 0 },
        num_sources_used: 7,
        cost_in_usd_ticks: 37_756_000,
      },
      { toolCalls: { web_search: 2, x_search: 1, search_sources: 7 }, vendorCostNanoUsd: 3_775_600 },
    ],
    ['OpenRouter’s cost', { cost: 0.00014 }, { vendorCostNanoUsd: 140_000 }],
    [
      'Perplexity’s cost',
      { cost: { total_cost: 0.006 }, num_search_queries: 1 },
      { toolCalls: { web_search: 1 }, vendorCostNanoUsd: 6_000_000 },
    ],
    ['figures that cannot be', { cost: -1, server_tool_use: { web_search_requests: 1.5 }, num_sources_used: '3' }, {}],
    ['a cost beyond all reason', { cost: 1e300 }, {}],
    [
      'calls of names that no tool has, and PostgreSQL refuses',
      { server_tool_use: { '\0_requests': 1, '\ud800_requests': 1, 'web search_requests': 1, web_search_requests: 2 } },
      { toolCalls: { web_search: 2 } },
    ],
  ])('%s', (_, usage, reported) => {
    expect(billedBeside(usage as Record<string, unknown>)).toEqual(reported)
  })

  test('of thousands of names some are kept, for one message on the bus holds the usage', () => {
    const names = Array.from({ length: 20_000 }, (_, index) => [`tool_${index}_requests`, 1])
    const beside = { num_sources_used: 2, num_search_queries: 3 }
    const { toolCalls } = billedBeside({ server_tool_use: Object.fromEntries(names), ...beside })
    expect(Object.keys(toolCalls!)).toHaveLength(64)
    expect(toolCalls).toMatchObject({ web_search: 3, tool_0: 1 })
  })

  test('the usage fits the contract for every value that a backend writes there', () => {
    const names = ['cost', 'cost_in_usd_ticks', 'server_tool_use', 'num_sources_used', 'prompt_tokens_details']
    const value = fc.oneof(
      fc.jsonValue(),
      fc.dictionary(fc.constantFrom('web_search_requests', '_requests', 'audio_tokens', '__proto__'), fc.jsonValue()),
    )
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), value), (more) => {
        const usage = readUsage({ prompt_tokens: 3, completion_tokens: 4, ...more })
        expect(tokenUsage.safeParse(usage).success).toBe(true)
      }),
    )
  })
})

describe('the calls of a response', () => {
  const search = (type: string) => ({ type: 'web_search_call', action: { type } })
  const code = (container_id: string) => ({ type: 'code_interpreter_call', container_id })
  test.each<[string, object[], object | undefined, object]>([
    ['are none', [{ type: 'message' }, { type: 'constructor' }], undefined, {}],
    [
      'are its searches, and not the pages that they open',
      [search('search'), search('open_page'), search('search')],
      undefined,
      { web_search: 2 },
    ],
    [
      'are the searches that the vendor bills',
      [search('search'), search('search')],
      { web_search: { num_requests: 1 } },
      { web_search: 1 },
    ],
    ['are none where the vendor bills none', [search('search')], { web_search: { num_requests: 0 } }, {}],
    [
      'are containers, however often code runs in one',
      [code('a'), code('b'), code('a')],
      undefined,
      { code_interpreter: 2 },
    ],
    [
      'are of each tool',
      [{ type: 'file_search_call' }, { type: 'mcp_call' }, { type: 'image_generation_call' }],
      undefined,
      { file_search: 1, mcp: 1, image_generation: 1 },
    ],
  ])('%s', (_, output, tool_usage, calls) => {
    expect(callsOfResponse({ output, tool_usage })).toEqual(calls)
  })
})
