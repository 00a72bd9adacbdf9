/**
 * Tools that a vendor runs and bills beside the tokens, and kinds of tokens with a rate of their own. The tests use the
 * whole gateway, with vendors' models at list rates.
 */

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { completion, message, startVendor, type VendorStandIn } from './hosted-tools/vendor.ts'
import { type GatewayInProcess, startGatewayInProcess } from './prices/gateway-in-process.ts'
import { userMessages, send } from './promises/gateway.ts'

let gateway: GatewayInProcess
let vendor: VendorStandIn
let key: string

const direct = (id: string, ownedBy: string, more: object = {}) => {
  const pool = id.replaceAll('.', '-')
  return { id, type: 'chat', pool, direct: true, ownedBy, ...more }
}
const MODELS = [
  direct('claude-sonnet-4-6', 'anthropic', { hostedTools: ['web_search'], maxToolCalls: 3 }),
  { id: 'searching', type: 'chat', pool: 'searching', multiplier: 1, hostedTools: ['web_search'] },
  direct('claude-haiku-4-5', 'anthropic'),
  direct('gpt-5', 'openai'),
  direct('gemini-2.5-flash', 'google'),
]
const BACKENDS = {
  'claude-sonnet-4-6': { dialect: 'anthropic' },
  searching: { dialects: ['chat', 'responses'] },
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
  vendor.replies['messages'] = message({ input_tokens: 1, output_tokens: 1 })
  const { status } = await messages({})
  return status === 200 && vendor.bodies.length > 0
}

const messages = (more: object) =>
  send(gateway.url, '/v1/messages', {
    key,
    body: { model: 'claude-haiku-4-5', max_tokens: 50, messages: userMessages('What is new?'), ...more },
  })

async function chargeOf({ headers }: { headers: Headers }): Promise<number> {
  return (await gateway.ledgerRow(headers.get('x-request-id')!))!.charge
}

describe('a request costs the amount that its vendor bills for it', () => {
  test('five web searches of a Claude model cost a cent each, beside the tokens', async () => {
    const usage = { input_tokens: 10, output_tokens: 20, server_tool_use: { web_search_requests: 5 } }
    vendor.replies['messages'] = message(usage)
    const reply = await messages({ tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 }] })
    expect(reply.status).toBe(200)
    expect(await chargeOf(reply)).toBe(10 * 1_000 + 20 * 5_000 + 5 * 10_000_000)
  })

  test('tokens of sound have the rate of sound', async () => {
    const prompt_tokens_details = { audio_tokens: 900, text_tokens: 100 }
    vendor.replies['completions'] = completion({ prompt_tokens: 1_000, completion_tokens: 10, prompt_tokens_details })
    const content = [
      { type: 'text', text: 'What is said?' },
      { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
    ]
    const body = { model: 'gemini-2.5-flash', max_tokens: 50, messages: [{ role: 'user', content }] }
    const reply = await send(gateway.url, '/v1/chat/completions', { key, body })
    expect(reply.status).toBe(200)
    expect(await chargeOf(reply)).toBe(100 * 300 + 900 * 1_000 + 10 * 2_500)
  })
})

test('sound that the vendor counts among other tokens is derived from the rest of the prompt, and the row is an estimate', async () => {
  vendor.replies['completions'] = completion({ prompt_tokens: 1_000, completion_tokens: 10 })
  const content = [
    { type: 'text', text: 'a'.repeat(368) },
    { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
  ]
  const body = { model: 'gemini-2.5-flash', max_tokens: 50, messages: [{ role: 'user', content }] }
  const reply = await send(gateway.url, '/v1/chat/completions', { key, body })
  // 368 letters are 92 tokens, and 8 stand around a message.
  expect(await chargeOf(reply)).toBe(100 * 300 + 900 * 1_000 + 10 * 2_500)
  const row = await gateway.ledgerRow(reply.headers.get('x-request-id')!)
  expect(row).toMatchObject({ audio_prompt_tokens: 900, estimated: true })
  vendor.replies['completions'] = completion({
    ...{ prompt_tokens: 1_000, completion_tokens: 10 },
    prompt_tokens_details: { audio_tokens: 0 },
  })
  expect(await chargeOf(await send(gateway.url, '/v1/chat/completions', { key, body }))).toBe(1_000 * 300 + 10 * 2_500)
})

describe('a tool that the operator has not allowed for the model stays behind, and the client hears of it', () => {
  test.each<[string, string, object, string]>([
    [
      'web search of the Messages API',
      '/v1/messages',
      {
        model: 'claude-haiku-4-5',
        max_tokens: 50,
        messages: userMessages('x'),
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
      { model: 'gpt-5', messages: userMessages('x'), web_search_options: {} },
      'web_search_options',
    ],
    [
      'a plugin of OpenRouter',
      '/v1/chat/completions',
      { model: 'gpt-5', messages: userMessages('x'), plugins: [{ id: 'web' }] },
      'plugins',
    ],
    [
      'a preset of OpenRouter',
      '/v1/chat/completions',
      { model: 'gpt-5', messages: userMessages('x'), preset: 'dear' },
      'preset',
    ],
  ])('%s', async (_, path, body, name) => {
    const usage = { input_tokens: 1, output_tokens: 1 }
    vendor.replies['messages'] = message(usage)
    vendor.replies['completions'] = completion({ prompt_tokens: 1, completion_tokens: 1 })
    vendor.replies['responses'] = { ...RESPONSE, usage }
    const reply = await send(gateway.url, path, { key, body })
    expect([reply.status, reply.headers.get('x-svc-dropped-params')]).toEqual([200, name])
    const sent = vendor.bodies.at(-1)!
    expect(Object.keys(sent)).not.toContain(name.split('.')[0])
  })
})

describe('a tool that the operator has allowed', () => {
  const SEARCH = { type: 'web_search_20250305', name: 'web_search' }
  const claude = (tool: object) => ({
    ...{ model: 'claude-sonnet-4-6', max_tokens: 100, messages: userMessages('What is new?') },
    tools: [tool],
  })
  const used = { input_tokens: 10, output_tokens: 20, server_tool_use: { web_search_requests: 2 } }

  test.each([
    ['with the limit of the model', SEARCH, 3],
    ['with the client’s own, where that is lower', { ...SEARCH, max_uses: 2 }, 2],
    ['with the limit of the model, where the client wants more', { ...SEARCH, max_uses: 9 }, 3],
  ])('reaches the vendor %s', async (_, tool, max_uses) => {
    vendor.replies['messages'] = message(used)
    const reply = await send(gateway.url, '/v1/messages', { key, body: claude(tool) })
    expect([reply.status, reply.headers.get('x-svc-dropped-params')]).toEqual([200, null])
    expect(vendor.bodies.at(-1)).toMatchObject({ tools: [{ ...SEARCH, max_uses }] })
    expect(await chargeOf(reply)).toBe(10 * 3_000 + 20 * 15_000 + 2 * 10_000_000)
  })

  test('stands in the ledger with the count of its calls and the price that the vendor names', async () => {
    vendor.replies['completions'] = completion({ prompt_tokens: 10, completion_tokens: 2, cost: 0.0042 })
    const reply = await send(gateway.url, '/v1/chat/completions', {
      key,
      body: { model: 'gpt-5', messages: userMessages('x') },
    })
    const row = await gateway.ledgerRow(reply.headers.get('x-request-id')!)
    expect(row).toMatchObject({ tool_calls: {}, vendor_cost_nano_usd: 4_200_000 })
    vendor.replies['messages'] = message(used)
    const searched = await send(gateway.url, '/v1/messages', { key, body: claude(SEARCH) })
    const counted = await gateway.ledgerRow(searched.headers.get('x-request-id')!)
    expect(counted).toMatchObject({ tool_calls: { web_search: 2 }, vendor_cost_nano_usd: null })
  })

  test('is in the worst case of a quote: three calls, and a full window for each of their results', async () => {
    const quote = async (body: object) =>
      (await send(gateway.url, '/v1/quote?dialect=messages', { key, body })).body as Record<string, number>
    const [plain, searching] = [await quote(claude({ name: 'f', input_schema: {} })), await quote(claude(SEARCH))]
    const grown = searching['worst_case_charge']! - plain['worst_case_charge']!
    // Writing to the cache for an hour is the dearest that can become of a prompt. The entries of `tools` differ by some bytes.
    expect(grown).toBeGreaterThan(3 * (0.01 + (200_000 * 6) / 1e6))
    expect(grown).toBeLessThan(3 * (0.01 + (200_000 * 6) / 1e6) + 0.001)
    expect(searching['price']).toMatchObject({ usd_per_call: { web_search: 0.01 } })
  })

  test('costs a plan that counts tokens its dollars at three dollars a million', async () => {
    const own = await gateway.newKey('pro')
    const item = { type: 'web_search_call', id: 'w', status: 'completed', action: { type: 'search', query: 'q' } }
    const usage = { input_tokens: 10, output_tokens: 20 }
    vendor.replies['responses'] = { ...RESPONSE, output: [item, ...RESPONSE.output], usage }
    const body = { model: 'searching', input: 'What is new?', tools: [{ type: 'web_search' }] }
    const reply = await send(gateway.url, '/v1/responses', { key: own, body })
    expect([reply.status, reply.headers.get('x-svc-dropped-params')]).toEqual([200, null])
    expect(vendor.bodies.at(-1)).toMatchObject({ tools: [{ type: 'web_search' }], max_tool_calls: 10 })
    expect(await chargeOf(reply)).toBe(30_000 + 3_333_333)
  })

  test('gets a 400 where the request demands one that the model does not run', async () => {
    const body = { ...claude(SEARCH), model: 'claude-haiku-4-5', tool_choice: { type: 'tool', name: 'web_search' } }
    const reply = await send(gateway.url, '/v1/messages', { key, body })
    expect([reply.status, JSON.stringify(reply.body)]).toEqual([400, expect.stringContaining('tool_choice')])
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
