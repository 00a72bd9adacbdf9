/** The first minutes of somebody who has just started the gateway, or points the wrong thing at it. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import { loadDefaultConfig } from '@gateway/config/load-config'
import { createLogger } from '@gateway/telemetry/logger'
import { createMetrics } from '@gateway/telemetry/metrics'
import { NO_TRACING } from '@gateway/telemetry/tracing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadEdgeSettings } from '../config.ts'
import { refuseEveryToken, verifyOwner } from '../auth/verify-token.ts'
import type { EdgeContext } from '../edge-context.ts'
import { openLoadShedder } from './load-shedder.ts'
import { createApp } from '../create-app.ts'
import { edgeMetrics } from '../metrics.ts'
import { pages, routes } from '../routes.ts'

let opened: AsyncDisposableStack
beforeEach(() => void (opened = new AsyncDisposableStack()))
afterEach(() => opened.disposeAsync())

async function open(environment: NodeJS.ProcessEnv = {}): Promise<string> {
  const settings = loadEdgeSettings(environment)
  const edge = {
    settings,
    config: { current: loadDefaultConfig().config },
    shedder: opened.use(openLoadShedder()),
    plans: { isDeadKey: () => false, planOf: () => null, policyOf: () => null },
    verifySignIn: verifyOwner(refuseEveryToken),
    metrics: edgeMetrics(createMetrics({ service: 'edge' })),
    tracer: NO_TRACING,
    logger: createLogger({ service: 'edge', level: 'silent' }),
  } as unknown as EdgeContext
  const server = createServer(createApp(edge, { ...routes, ...pages(settings) })).listen(0, '127.0.0.1')
  await once(server, 'listening')
  opened.defer(async () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('the address of the gateway itself', () => {
  const send = async (method: string, accept: string) =>
    fetch(`${await open()}/`, { method, headers: { accept }, redirect: 'manual' })

  test('leads a browser to the console', async () => {
    const response = await send('GET', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8')
    expect([response.status, response.headers.get('location')]).toEqual([302, 'http://127.0.0.1:8080/console'])
    expect(response.headers.get('vary')).toMatch(/accept/i)
  })

  test.each(['*/*', 'application/json'])('refers others (%s) to the right address, in a short JSON', async (accept) => {
    const response = await send('GET', accept)
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        name: 'Model Gateway',
        api: 'http://127.0.0.1:8080/v1',
        docs: 'http://127.0.0.1:8080/docs',
        console: 'http://127.0.0.1:8080/console',
      },
    ])
  })

  test('responds to HEAD, by which tools look whether it is there', async () => {
    const response = await send('HEAD', '*/*')
    expect([response.status, await response.text()]).toEqual([200, ''])
  })
})

describe('the address by which Claude Code opens its connection', () => {
  test.each(['HEAD', 'GET'])('responds to %s, without a credential and with any other one', async (method) => {
    for (const headers of [{}, { 'x-api-key': 'sk-ant-abc' }] as Record<string, string>[]) {
      const response = await fetch(`${await open()}/api/hello`, { method, headers, redirect: 'error' })
      expect([response.status, await response.text()]).toEqual([200, method === 'HEAD' ? '' : '{"message":"hello"}'])
    }
  })
})

describe('a key of another service', () => {
  const HINT = /key of another service.*begin with svc_/
  const send = async (key: string, headers: Record<string, string> = {}, path = '/v1/chat/completions') =>
    fetch((await open()) + path, {
      method: 'POST',
      body: '{}',
      headers: { authorization: `Bearer ${key}`, ...headers },
    })

  test.each(['sk-proj-abc123', 'sk-ant-api03-abc'])(
    '%s gets the contract’s body, and a header that names the mistake',
    async (key) => {
      const response = await send(key)
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer error="invalid_token", error_description="/)
      expect(response.headers.get('www-authenticate')).toMatch(HINT)
      expect([response.status, await response.json()]).toEqual([
        401,
        { error: 'Invalid token format', code: 'INVALID_TOKEN' },
      ])
    },
  )

  test('is named in bodies that are nested, too, beside the contract’s words', async () => {
    const error = {
      message: 'Invalid token format',
      code: 'INVALID_TOKEN',
      hint: expect.stringMatching(HINT) as string,
    }
    expect(await (await send('sk-abc', { 'x-stainless-lang': 'go' })).json()).toMatchObject({ error })
    expect(await (await send('sk-abc', {}, '/v1/messages')).json()).toMatchObject({ error })
  })

  test('any other value has no such sentence', async () => {
    const response = await send('abcdef')
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, null])
  })
})

describe('a browser page that sends a preflight request', () => {
  const preflight = async (environment: NodeJS.ProcessEnv, headers: Record<string, string> = {}) =>
    fetch(`${await open(environment)}/v1/chat/completions`, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST', ...headers },
    })

  test.each([
    ['no origin is configured', {}],
    ['another one is', { CORS_ORIGINS: 'https://other.example' }],
  ])('reads which variable to set where %s', async (_, environment) => {
    const response = await preflight(environment)
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([403, null])
    const message = expect.stringMatching(/https:\/\/app\.example.*CORS_ORIGINS/) as string
    expect(await response.json()).toMatchObject({ error: { code: 'FORBIDDEN', message } })
  })

  test.each(['https://app.example', '*'])('may where CORS_ORIGINS is %s', async (CORS_ORIGINS) => {
    expect((await preflight({ CORS_ORIGINS })).ok).toBe(true)
  })
})

describe('Anthropic’s client lists the models', () => {
  test('all of them, in its own shape, page by page', async () => {
    const baseURL = await open()
    const client = new Anthropic({ baseURL, apiKey: 'svc_any', maxRetries: 0 })
    const models = []
    for await (const model of client.models.list({ limit: 5 })) models.push(model)
    const { data } = (await (await fetch(`${baseURL}/v1/models`)).json()) as { data: { id: string }[] }
    expect(models.map(({ id }) => id)).toEqual(data.map(({ id }) => id))
    expect(models[0]).toEqual({
      type: 'model',
      id: 'svc-best',
      display_name: 'Auto',
      created_at: '2026-01-01T00:00:00Z',
      lifecycle: 'active',
      deprecated_at: null,
      retires_at: null,
      line: null,
      capabilities: null,
      max_input_tokens: null,
      max_tokens: null,
    })
    const legacy = models.find(({ id }) => id === 'svc-chat-sm')!
    expect(legacy).toMatchObject({ lifecycle: 'deprecated', deprecated_at: '2026-01-01T00:00:00Z' })
  })

  test('one of them, and reads an error of its own shape where there is none', async () => {
    const client = new Anthropic({ baseURL: await open(), apiKey: 'svc_any', maxRetries: 0 })
    expect(await client.models.retrieve('svc-core')).toMatchObject({
      type: 'model',
      id: 'svc-core',
      display_name: 'Nova',
    })
    const type = 'not_found_error'
    await expect(client.models.retrieve('nothing')).rejects.toMatchObject({
      status: 404,
      type,
      message: expect.stringContaining('nothing') as string,
    })
  })

  test('before and after one, as its pages go', async () => {
    const client = new Anthropic({ baseURL: await open(), apiKey: 'svc_any', maxRetries: 0 })
    const ids = (await client.models.list({ limit: 1_000 })).data.map(({ id }) => id)
    const before = await client.models.list({ before_id: ids[4]!, limit: 2 })
    expect([before.data.map(({ id }) => id), before.has_more]).toEqual([ids.slice(2, 4), true])
    const after = await client.models.list({ after_id: ids.at(-2)!, limit: 2 })
    expect([after.data.map(({ id }) => id), after.has_more]).toEqual([ids.slice(-1), false])
  })

  test('a response in one shape is not kept for a client of the other', async () => {
    const response = await fetch(`${await open()}/v1/models`)
    expect(response.headers.get('vary')).toMatch(/anthropic-version/)
  })

  test('wrong pages are named', async () => {
    const client = new Anthropic({ baseURL: await open(), apiKey: 'svc_any', maxRetries: 0 })
    await expect(client.models.list({ limit: 0 })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('limit') as string,
    })
    await expect(client.models.list({ after_id: 'nothing' })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('after_id') as string,
    })
  })
})

test('a picture’s address is refused with the reason', async () => {
  const { imagesRequest } = await import('@gateway/contracts/chat')
  const { error } = imagesRequest.safeParse({ prompt: 'a river', response_format: 'url' })
  expect(error!.issues[0]!.message).toMatch(/b64_json.*keeps no pictures/)
})
