/**
 * A client chooses the generation and the form of a response. It does not steer the server that generates it.
 * Parameters that reach another host, another's session, code, the order of others' requests or another model's price
 * stay with the operator.
 */

import type { JobHeader } from '@gateway/contracts/job'
import { describe, expect, test } from 'vitest'
import { goodChat, sendJson } from './http-backend.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'

const SAY = { messages: [{ role: 'user', content: 'Say hello' }] }

const STEERING: Record<string, Record<string, unknown>> = {
  sglang: {
    bootstrap_host: '169.254.169.254',
    bootstrap_port: 80,
    bootstrap_room: 1,
    custom_logit_processor: '{"callable": "80049503"}',
    custom_params: { a: 1 },
    lora_path: 'of-another-team',
    priority: -1,
    session_params: { id: 'of another', rid: 'of another' },
    rid: 'of another',
    extra_key: 'x',
    data_parallel_rank: 0,
  },
  vllm: {
    kv_transfer_params: { do_remote_prefill: true, remote_host: '169.254.169.254', remote_port: 80 },
    ec_transfer_params: { host: '169.254.169.254' },
    priority: -1,
    request_id: 'of another',
    cache_salt: 'x',
    chat_template: '{{ cycler.__init__.__globals__ }}',
    mm_processor_kwargs: { max_pixels: 1e12 },
    vllm_xargs: { a: 1 },
    use_beam_search: true,
  },
  'llama.cpp': { lora: [{ id: 0, scale: 1 }], id_slot: 0, cache_prompt: false, verbose: true, chat_parser: 'x' },
}

async function sent(vendor: string | null, more: object, fields: object = {}) {
  const server = await backend(goodChat)
  const named = vendor === null ? {} : { vendor }
  const under = await router(poolOver([server.url], { backend: { ...named, apiKey: 'key', ...fields } }))
  const { failure, head } = await under.sendRequest({ stream: false }, { ...SAY, ...more })
  expect(failure).toBeNull()
  const body = server.seen.at(-1)!.body
  return { arrived: Object.keys(more).filter((name) => name in body), dropped: head!.droppedParams ?? [], body }
}

describe.each(Object.entries(STEERING))('a parameter that steers %s', (vendor, steering) => {
  const names = Object.keys(steering)

  test.each([vendor, null])(
    'does not reach it from a client, known as %s, and the client is informed',
    async (known) => {
      const { arrived, dropped } = await sent(known, { ...steering, temperature: 0.5 })
      expect(arrived).toEqual(['temperature'])
      expect(dropped.toSorted()).toEqual(names.toSorted())
    },
  )

  test.each([vendor, null])('reaches it, known as %s, where the operator allows it by name', async (known) => {
    const [first, ...others] = names
    const { arrived, dropped } = await sent(known, steering, { allowParameters: [first] })
    expect(arrived).toEqual([first])
    expect(dropped.toSorted()).toEqual(others.toSorted())
  })
})

describe('a parameter inside of another member', () => {
  test.each(['vllm', 'sglang', 'llama.cpp', null])('does not reach %s either', async (vendor) => {
    const kwargs = { enable_thinking: false, chat_template: '{{ evil }}', tokenize: true }
    const { body, dropped } = await sent(vendor, { chat_template_kwargs: kwargs })
    expect(body['chat_template_kwargs']).toEqual({ enable_thinking: false })
    expect(dropped.toSorted()).toEqual(['chat_template_kwargs.chat_template', 'chat_template_kwargs.tokenize'])
  })

  test('does not reach Google, which would read a cache that another client has made', async () => {
    const google = { thinking_config: { thinking_budget: 100 }, cached_content: 'cachedContents/of-another' }
    const { body, dropped } = await sent('gemini', { extra_body: { google } })
    expect(body['extra_body']).toEqual({ google: { thinking_config: { thinking_budget: 100 } } })
    expect(dropped).toEqual(['extra_body.google.cached_content'])
  })

  test('reaches it where the operator allows it by its whole name', async () => {
    const kwargs = { chat_template: '{{ ours }}' }
    const { body, dropped } = await sent(
      'vllm',
      { chat_template_kwargs: kwargs },
      { allowParameters: ['chat_template_kwargs.chat_template'] },
    )
    expect(body['chat_template_kwargs']).toEqual(kwargs)
    expect(dropped).toEqual([])
  })
})

test.each([
  ['Priority', -1],
  ['bootstrapHost', '169.254.169.254'],
  ['extra_body', { priority: -1 }],
  ['nvext', { backend_instance_id: 1 }],
  ['api_base', 'http://169.254.169.254'],
  ['adapter_id', 'of-another-team'],
  ['keep_alive', -1],
])('%s does not reach a server of which nothing is known', async (name, value) => {
  expect(await sent(null, { [name]: value, top_k: 5 })).toMatchObject({ arrived: ['top_k'], dropped: [name] })
})

test('options of an image and of vectors do not steer the server either', async () => {
  const steering = { priority: -1, lora_path: 'of-another-team', bootstrap_host: '169.254.169.254' }
  const vector = { object: 'embedding', index: 0, embedding: [1, 2] }
  const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]).toString('base64')
  const server = await backend((response, { path }) =>
    path.endsWith('/embeddings')
      ? sendJson(response, 200, { data: [vector], usage: { prompt_tokens: 1 } })
      : sendJson(response, 200, { data: [{ b64_json: png }], usage: { input_tokens: 1, output_tokens: 1 } }),
  )
  for (const vendor of ['vllm', 'sglang', 'openai', undefined]) {
    const under = await router(poolOver([server.url], { backend: { vendor } }))
    const requested: [Partial<JobHeader>, object][] = [
      [
        { kind: 'embeddings', needs: ['embeddings'], dimensions: 2 },
        { input: 'a', user: 'u' },
      ],
      [
        { kind: 'images', needs: ['images'] },
        { prompt: 'a', size: '64x64' },
      ],
    ]
    for (const [header, body] of requested) {
      const { failure, head } = await under.sendRequest(header, { ...body, ...steering })
      expect(failure).toBeNull()
      expect(server.seen.at(-1)!.body).toMatchObject(body)
      expect(Object.keys(server.seen.at(-1)!.body)).not.toEqual(expect.arrayContaining(['priority']))
      expect(head!.droppedParams?.toSorted()).toEqual(Object.keys(steering).toSorted())
    }
  }
})

describe('a parameter that changes a price that the gateway does not know', () => {
  test.each<[string, Record<string, unknown>]>([
    ['openai', { service_tier: 'priority', web_search_options: { search_context_size: 'high' } }],
    ['azure', { service_tier: 'flex', data_sources: [{ type: 'azure_search' }] }],
    [
      'openrouter',
      {
        ...{ models: ['a/b'], provider: { sort: 'price' }, plugins: [{ id: 'web' }], preset: 'ours' },
        ...{ transforms: ['middle-out'], route: 'fallback', service_tier: 'priority' },
      },
    ],
    ['gemini', { service_tier: 'priority' }],
    ['vertex', { web_search_options: {} }],
  ])('does not leave for %s, and the client is informed', async (vendor, options) => {
    const { arrived, dropped } = await sent(vendor, { ...options, temperature: 0.5 })
    expect(arrived).toEqual(['temperature'])
    expect(dropped.toSorted()).toEqual(Object.keys(options).toSorted())
  })

  test('does not leave for a server of which nothing is known, by no vendor’s name for it', async () => {
    const options = {
      ...{ models: ['a'], fallbacks: ['a'], service_tier: 'priority', speed: 'fast', inference_geo: 'us' },
      ...{ plugins: [], preset: 'p', provider: {}, web_search_options: {}, transforms: [], search_parameters: {} },
    }
    const { arrived, dropped } = await sent(null, options)
    expect(arrived).toEqual([])
    expect(dropped.toSorted()).toEqual(Object.keys(options).toSorted())
  })

  test('does not leave in another dialect than the client’s either', async () => {
    const response = { id: 'resp_1', status: 'completed', output: [], usage: { input_tokens: 1, output_tokens: 1 } }
    const server = await backend((reply) => sendJson(reply, 200, response))
    const under = await router(poolOver([server.url], { backend: { dialects: ['responses'] } }))
    const { failure, head } = await under.sendRequest({}, { ...SAY, service_tier: 'priority' })
    expect(failure).toBeNull()
    expect(server.seen.at(-1)!.body).not.toHaveProperty('service_tier')
    expect(head!.droppedParams).toEqual(['service_tier'])
  })

  test('leaves with the value that costs nothing', async () => {
    expect(await sent('openai', { service_tier: 'default' })).toMatchObject({ arrived: ['service_tier'], dropped: [] })
  })

  test('is no operator’s to allow: no price would be charged', async () => {
    const allowed = { allowParameters: ['service_tier', 'models'] }
    const { arrived } = await sent('openrouter', { service_tier: 'priority', models: ['a/b'] }, allowed)
    expect(arrived).toEqual([])
  })
})
