import { describe, expect, test } from 'vitest'
import { stripUnpricedOptions } from './strip-unpriced-options.ts'

const written = (request: object) => {
  const { body, dropped } = stripUnpricedOptions(Buffer.from(JSON.stringify(request)))
  return { request: JSON.parse(Buffer.from(body).toString()) as object, dropped }
}
const REQUEST = { messages: [{ role: 'user', content: 'Which "models": are there? Ask an advisor.' }] }
const LOOK = { name: 'look', input_schema: { type: 'object' } }
const ADVISOR = { type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-5' }

describe('a request has the price of one model', () => {
  test.each<[string, object, object, string[]]>([
    ['an advisor beside tools', { tools: [LOOK, ADVISOR] }, { tools: [LOOK] }, ['tools.advisor_20260301']],
    ['an advisor alone', { tools: [ADVISOR], tool_choice: { type: 'auto' } }, {}, ['tools.advisor_20260301']],
    [
      'OpenRouter’s advisor',
      { tools: [{ type: 'openrouter:advisor', parameters: { model: 'a/b' } }] },
      {},
      ['tools.openrouter:advisor'],
    ],
  ])('without %s, and the client is informed', (_, more, left, dropped) => {
    expect(written({ ...REQUEST, ...more })).toEqual({ request: { ...REQUEST, ...left }, dropped })
  })

  test('and keeps its bytes where it is', () => {
    const own = { type: 'function', function: { name: 'advisor' } }
    const body = Buffer.from(JSON.stringify({ ...REQUEST, tools: [own, { name: 'advisor' }] }))
    expect(stripUnpricedOptions(body)).toEqual({ body, dropped: [] })
  })
})
