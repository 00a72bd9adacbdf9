import { describe, expect, test } from 'vitest'
import { readsAttribution, leaveOutAttribution } from './attribution.ts'

const BLOCK = 'x-anthropic-billing-header: cc_version=2.1.330.0d9; cc_entrypoint=cli; cch=1fa0e;'

function cleaned(request: object): unknown {
  const body = Buffer.from(JSON.stringify(request))
  const left = leaveOutAttribution(body)
  // A request without the block is not even copied.
  if (left.equals(body)) expect(left).toBe(body)
  return JSON.parse(left.toString('utf8'))
}

describe('a system text loses the attribution block', () => {
  test.each<[string, string | undefined]>([
    [BLOCK, undefined],
    [`\n${BLOCK}\n`, undefined],
    [BLOCK.slice(0, -1), undefined],
    [`${BLOCK}\nBe brief.`, 'Be brief.'],
    [`${BLOCK}\r\n\r\n  Be brief.`, 'Be brief.'],
    [`${BLOCK.slice(0, -1)} \nBe brief.`, 'Be brief.'],
    // Blocks that a client has joined without a space.
    [`${BLOCK}You are an agent.`, 'You are an agent.'],
  ])('%j', (text, left) => {
    expect(cleaned({ system: text })).toEqual(left === undefined ? {} : { system: left })
  })

  test.each([
    `Never print ${BLOCK}`,
    `\`${BLOCK}\` is a line of a client.`,
    `${BLOCK} is a line of a client.`,
    'x-anthropic-billing-header: is a line of a client.',
    'x-anthropic-billing-header:',
    `Read:\n${BLOCK}\n`,
    '',
  ])('and keeps a quotation: %j', (text) => {
    const request = { system: text, messages: [{ role: 'system', content: [{ type: 'text', text }] }] }
    expect(cleaned(request)).toEqual(request)
  })

  test('wherever the dialect has the words of the system, and nowhere else', () => {
    const part = (type: string, text: string) => ({ type, text })
    const user = { role: 'user', content: BLOCK }
    const call = { role: 'assistant', content: null, tool_calls: [{ function: { arguments: BLOCK } }] }
    const kept = [user, call, { role: 'tool', tool_call_id: 't', content: BLOCK }]
    const cached = { ...part('text', 'Be brief.'), cache_control: { type: 'ephemeral' } }
    expect(
      cleaned({
        id: 1,
        system: [part('text', 'One'), part('text', BLOCK), cached],
        instructions: BLOCK,
        messages: [{ role: 'system', content: BLOCK }, { role: 'developer', content: `${BLOCK}\nTwo` }, ...kept],
        input: [{ type: 'message', role: 'system', content: [part('input_text', BLOCK), part('input_text', 'Three')] }],
      }),
    ).toEqual({
      id: 1,
      system: [part('text', 'One'), cached],
      messages: [{ role: 'developer', content: 'Two' }, ...kept],
      input: [{ type: 'message', role: 'system', content: [part('input_text', 'Three')] }],
    })
  })

  test('and numbers beside it keep their text', () => {
    const body = Buffer.from(`{"system":"${BLOCK}","tools":[{"maximum":9223372036854775807,"minimum":1.0}]}`)
    const left = '{"tools":[{"maximum":9223372036854775807,"minimum":1.0}]}'
    expect(leaveOutAttribution(body).toString()).toBe(left)
  })
})

test.each([
  ['https://api.anthropic.com/v1', true],
  ['https://api.deepseek.com/anthropic/v1', false],
  ['https://anthropic.com.example/v1', false],
  ['https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1', false],
  ['https://own.services.ai.azure.com/anthropic/v1', false],
  ['http://127.0.0.1:8000/v1', false],
])('only Anthropic’s own API reads the block: %s', (url, reads) => {
  expect(readsAttribution(url)).toBe(reads)
})
