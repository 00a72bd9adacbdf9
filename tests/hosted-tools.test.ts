/**
 * Tools that a vendor runs and bills beside the tokens, and kinds of tokens with a rate of their own: on the whole gateway, with
 * vendors' models at list rates.
 */

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { completion, message, startVendor, type VendorStandIn } from './hosted-tools/vendor.ts'
import { type GatewayInProcess, startGatewayInProcess } from './prices/gateway-in-process.ts'
import { ask, send } from './promises/gateway.ts'

let gateway: GatewayInProcess
let vendor: VendorStandIn
let key: string

const direct = (id: string, ownedBy: string, more: object = {}) => {
  const pool = id.replaceAll('.', '-')
  return { id, type: 'chat', pool, direct: true, ownedBy, ...more }
}
const MODELS = [
  direct('claude-haiku-4-5', 'anthropic'),
  direct('gpt-5', 'openai'),
  direct('gemini-2.5-flash', 'google'),
]
const BACKENDS = {
  'claude-haiku-4-5': { dialect: 'anthropic' },
  'gpt-5': { dialects: ['chat', 'responses'] },
  'gemini-2.5-flash': {},
} as Record<string, object>

beforeAll(async () => {
  vendor = await startVendor()
  gateway = await startGatewayInProcess()
  const ids = MODELS.map(({ id, pool }) => ({ id, pool }))
  await gateway.configure({
    extends: 'default',
    backends: ids.map(({ id, pool }) => ({ id: pool, url: vendor.url, ...BACKENDS[id] })),
    pools: ids.map(({ id, pool }) => ({
      id: pool,
      targets: [{ backend: pool, model: id, contextWindow: 200_000 }],
    })),
    models: MODELS,
  })
  key = await gateway.newKey('payg')
  await vi.waitUntil(servesOwn, { timeout: 20_000, interval: 100 })
})
afterAll(async () => {
  await gateway?.[Symbol.asyncDispose]()
  await vendor?.[Symbol.asyncDispose]()
})

/** The new configuration has reached edge and router. */
async function servesOwn(): Promise<boolean> {
  vendor.answers['messages'] = message({ input_tokens: 1, output_tokens: 1 })
  const { status } = await messages({})
  return status === 200 && vendor.bodies.length > 0
}

const messages = (more: object) =>
  send(gateway.url, '/v1/messages', {
    key,
    body: { model: 'claude-haiku-4-5', max_tokens: 50, messages: ask('What is new?'), ...more },
  })

async function chargeOf({ headers }: { headers: Headers }): Promise<number> {
  return (await gateway.ledgerRow(headers.get('x-request-id')!))!.charge
}

describe('a request costs what its vendor bills for it', () => {
  test('five web searches of a Claude model cost a cent each, beside the tokens', async () => {
    const usage = { input_tokens: 10, output_tokens: 20, server_tool_use: { web_search_requests: 5 } }
    vendor.answers['messages'] = message(usage)
    const answer = await messages({ tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 }] })
    expect(answer.status).toBe(200)
    expect(await chargeOf(answer)).toBe(10 * 1_000 + 20 * 5_000 + 5 * 10_000_000)
  })

  test('tokens of sound have the rate of sound', async () => {
    const prompt_tokens_details = { audio_tokens: 900, text_tokens: 100 }
    vendor.answers['completions'] = completion({ prompt_tokens: 1_000, completion_tokens: 10, prompt_tokens_details })
    const content = [
      { type: 'text', text: 'What is said?' },
      { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
    ]
    const body = { model: 'gemini-2.5-flash', max_tokens: 50, messages: [{ role: 'user', content }] }
    const answer = await send(gateway.url, '/v1/chat/completions', { key, body })
    expect(answer.status).toBe(200)
    expect(await chargeOf(answer)).toBe(100 * 300 + 900 * 1_000 + 10 * 2_500)
  })
})

describe('a tool that the operator has not allowed for the model stays behind, and the client hears of it', () => {
  test.each<[string, string, object, string]>([
    [
      'web search of the Messages API',
      '/v1/messages',
      {
        model: 'claude-haiku-4-5',
        max_tokens: 50,
        messages: ask('x'),
        tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      },
      'tools.web_search_20250305',
    ],
    ...['web_search', 'code_interpreter', 'file_search', 'image_generation'].map(
      (type): [string, string, object, string] => [
        `${type} of the Responses API`,
        '/v1/responses',
        { model: 'gpt-5', input: 'x', tools: [{ type }] },
        `tools.${type}`,
      ],
    ),
    [
      'web search of chat',
      '/v1/chat/completions',
      { model: 'gpt-5', messages: ask('x'), web_search_options: {} },
      'web_search_options',
    ],
    [
      'a plugin of OpenRouter',
      '/v1/chat/completions',
      { model: 'gpt-5', messages: ask('x'), plugins: [{ id: 'web' }] },
      'plugins',
    ],
    [
      'a preset of OpenRouter',
      '/v1/chat/completions',
      { model: 'gpt-5', messages: ask('x'), preset: 'dear' },
      'preset',
    ],
  ])('%s', async (_, path, body, name) => {
    const usage = { input_tokens: 1, output_tokens: 1 }
    vendor.answers['messages'] = message(usage)
    vendor.answers['completions'] = completion({ prompt_tokens: 1, completion_tokens: 1 })
    vendor.answers['responses'] = { ...RESPONSE, usage }
    const answer = await send(gateway.url, path, { key, body })
    expect([answer.status, answer.headers.get('x-svc-dropped-params')]).toEqual([200, name])
    const sent = vendor.bodies.at(-1)!
    expect(Object.keys(sent)).not.toContain(name.split('.')[0])
  })
})

const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'gpt-5',
  output: [{ type: 'message', id: 'm', role: 'assistant', status: 'completed', content: [] }],
}
