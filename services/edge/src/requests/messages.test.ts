import type { GatewayError } from '@gateway/contracts/errors'
import { describe, expect, test } from 'vitest'
import { countTokens, messages } from './messages.ts'

const hi = [{ role: 'user', content: 'Hi' }]
const LANE = { maxOutputTokens: 9_000 } as never
const parsed = (request: object) => messages({ model: 'claude', max_tokens: 50, messages: hi, ...request }, [])
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(10_000) } }

describe('a request', () => {
  test('is sent in its own dialect, and its streams always state their usage', () => {
    const request = parsed({ stream: true, thinking: { type: 'disabled' }, container: 'c' })
    expect(request).toMatchObject({
      kind: 'chat',
      dialect: 'messages',
      model: 'claude',
      stream: true,
      includeUsage: true,
    })
    expect(request).toMatchObject({ capsOutput: true, outputCap: 50, thinkingDisabled: true, needs: ['chat'] })
    const body = { max_tokens: 50, messages: hi, thinking: { type: 'disabled' }, container: 'c' }
    expect(JSON.parse(Buffer.from(request.body).toString())).toEqual(body)
  })

  test('may request no output at all, to fill the prompt cache', () => {
    const request = parsed({ max_tokens: 0 })
    expect(request).toMatchObject({ capsOutput: true, outputCap: undefined })
    expect(request.estimate(LANE)).toMatchObject({ maxOutputTokens: 0 })
    expect(request.estimate(LANE).usualTokens).toBe(request.estimate(LANE).usualPromptTokens)
    expect(JSON.parse(Buffer.from(request.body).toString())).toMatchObject({ max_tokens: 0 })
    expect(() => parsed({ max_tokens: -1 })).toThrow(/max_tokens/)
  })

  test('is seen by Auto as a chat: results of tools are no words of the user', () => {
    const turns = [
      { role: 'user', content: [{ type: 'text', text: 'Look' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'look', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't', content: 'a cat' },
          { type: 'text', text: 'And?' },
        ],
      },
    ]
    expect(parsed({ system: [{ type: 'text', text: 'Be brief' }], messages: turns }).messages).toEqual([
      { role: 'system', content: [{ type: 'text', text: 'Be brief' }] },
      { role: 'user', content: [{ type: 'text', text: 'Look' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'look', input: {} }] },
      { role: 'tool', content: 'a cat' },
      { role: 'user', content: [{ type: 'text', text: 'And?' }] },
    ])
  })

  test.each([[5], [{}], [['a cat']], [[null]], [[{ text: 'no type' }]]])(
    'whose tool results are %j is refused by its field',
    (content) => {
      const result = { type: 'tool_result', tool_use_id: 't', content }
      expect(() => parsed({ messages: [{ role: 'user', content: [result] }] })).toThrow(
        /messages\[0\]\.content.*: must/,
      )
    },
  )

  test.each<[string, object, string[]]>([
    ['tools', { tools: [{ name: 'a', input_schema: {} }] }, ['chat', 'tools']],
    ['tools that only the vendor runs', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, ['chat']],
    ['an image', { messages: [{ role: 'user', content: [image] }] }, ['chat', 'vision']],
    [
      'an image in a result',
      { messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [image] }] }] },
      ['chat', 'vision'],
    ],
  ])('with %s needs a target that takes them', (_, request, needs) => {
    expect(parsed(request).needs).toEqual(needs)
  })

  test('is estimated from its texts and tools; an image counts by its tiles', () => {
    const { maxPromptTokens, maxOutputTokens } = parsed({}).estimate(LANE)
    expect([maxPromptTokens, maxOutputTokens]).toEqual([1_522, 50])
    const { usualPromptTokens } = parsed({ messages: [{ role: 'user', content: [image] }] }).estimate(LANE)
    expect(usualPromptTokens).toBe(3_008)
    const tools = [{ name: 'look', input_schema: { type: 'object' } }]
    expect(parsed({ tools }).estimate(LANE).maxPromptTokens).toBe(1_522 + JSON.stringify(tools).length)
  })

  test('keeps a conversation on its backend', () => {
    const more = [...hi, { role: 'assistant', content: 'Hello' }, { role: 'user', content: 'Who?' }]
    expect(parsed({ messages: more }).conversationKey!()).toBe(parsed({}).conversationKey!())
    expect(parsed({ system: 'Other' }).conversationKey!()).not.toBe(parsed({}).conversationKey!())
  })

  test.each<[object, string]>([
    [{ max_tokens: undefined }, 'max_tokens'],
    [{ model: undefined }, 'model'],
    [{ messages: [] }, 'messages'],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].role'],
    [{ tool_choice: { type: 'maybe' } }, 'tool_choice.type'],
    [{ temperature: 1.5 }, 'temperature'],
  ])('that is wrong names the field: %j', (fault, field) => {
    expect(() => parsed(fault)).toThrow(
      expect.objectContaining({
        code: 'VALIDATION_ERROR',
        message: expect.stringMatching(new RegExp(`^${field.replace(/[[\].]/g, '\\$&')}:`)),
      }) as GatewayError,
    )
  })
})

test('tokens are counted as the estimate of the same prompt has them, without a cap', () => {
  const { usualPromptTokens } = parsed({ system: 'Be brief' }).estimate(LANE)
  const counted = countTokens({ model: 'claude', messages: hi, system: 'Be brief' })
  expect(counted).toEqual({ model: 'claude', input_tokens: usualPromptTokens })
})
