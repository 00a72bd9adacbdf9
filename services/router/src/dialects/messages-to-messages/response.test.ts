import fc from 'fast-check'
import { parseExactly } from '@gateway/contracts/json'
import { MOST_TOKENS } from '@gateway/contracts/usage'
import { expect, test } from 'vitest'
import { readMessagesUsage } from './response.ts'

/** JSON knows more than one notation of a whole number, and servers use them: `5`, `5.0`, `5e0`. */
const NOTATIONS = [String, (value: number) => `${value}.0`, (value: number) => `${value}e0`]

const SEARCHED = {
  input_tokens: 10,
  output_tokens: 20,
  cache_read_input_tokens: 3,
  server_tool_use: { web_search_requests: 5, web_fetch_requests: 1 },
  cost: 2,
}

test.each(NOTATIONS)('a whole message costs the same in each notation of its figures', (written) => {
  const text = JSON.stringify(SEARCHED).replaceAll(/\d+/g, (digits) => written(Number(digits)))
  expect(readMessagesUsage(parseExactly(text))).toEqual(readMessagesUsage(SEARCHED))
  expect(readMessagesUsage(SEARCHED)).toMatchObject({ toolCalls: { web_search: 5 }, completionTokens: 20 })
})

test.each(NOTATIONS)('more tokens than any request has are no usage, in each notation', (written) => {
  const names = ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens']
  for (const name of names) {
    const figures = { input_tokens: 1, output_tokens: 1, [name]: MOST_TOKENS + 1 }
    const text = JSON.stringify(figures).replaceAll(/\d+/g, (digits) => written(Number(digits)))
    expect(readMessagesUsage(parseExactly(text))).toBeNull()
  }
})

test('any usage reads the same in each notation', () => {
  const count = fc.nat({ max: 1_000_000 })
  const usage = fc.record({
    input_tokens: count,
    output_tokens: count,
    cache_read_input_tokens: count,
    cache_creation_input_tokens: count,
    output_tokens_details: fc.record({ thinking_tokens: count }),
    server_tool_use: fc.record({ web_search_requests: fc.nat(20) }),
    iterations: fc.array(fc.record({ type: fc.constantFrom('compaction', 'message'), output_tokens: count })),
  })
  fc.assert(
    fc.property(usage, fc.constantFrom(...NOTATIONS), (reported, written) => {
      const text = JSON.stringify(reported).replaceAll(/\d+/g, (digits) => written(Number(digits)))
      expect(readMessagesUsage(parseExactly(text))).toEqual(readMessagesUsage(reported))
    }),
  )
})
