import { describe, expect, test } from 'vitest'
import {
  ERROR_STATUS,
  flatErrorBody,
  GatewayError,
  isFlat,
  messagesError,
  nestedErrorBody,
  quotaExceededBody,
  rateLimitBody,
  rateLimitTypes,
  type ErrorCode,
} from './errors.ts'
import { renderError } from './render-error.ts'
import { clientDialects } from './vendors.ts'

const links = { docsUrl: 'https://docs.example/limits', topupUrl: 'https://console.example/top-up' }

function render(error: GatewayError) {
  const { status, headers, body } = renderError(error, links)
  return { status, headers, body: JSON.parse(body) as unknown }
}

describe("the bodies of the contract's table, to the letter", () => {
  test.each([
    ['NO_AUTH', 'Unauthorized'],
    ['INVALID_KEY', 'Invalid key'],
    ['INVALID_TOKEN', 'Invalid token format'],
  ] as const)('%s is a flat 401 that says "%s", for every message of the code that threw it', (code, error) => {
    expect(render(new GatewayError(code, 'the key svc_… is in no table'))).toEqual({
      status: 401,
      headers: { 'x-should-retry': 'false' },
      body: { error, code },
    })
  })

  test('rate_limit_exceeded is a nested 429 that says how long to wait', () => {
    const error = new GatewayError('rate_limit_exceeded', 'Too many requests', {
      type: 'requests',
      retryAfterMs: 1_200.4,
    })
    expect(render(error)).toEqual({
      status: 429,
      headers: { 'retry-after-ms': '1201', 'retry-after': '2' },
      body: {
        error: {
          code: 'rate_limit_exceeded',
          type: 'requests',
          message: 'Too many requests',
          retry_after_ms: 1_201,
          docs: links.docsUrl,
        },
      },
    })
  })

  test('a model outside the plan is the same with type plan_limit, and retrying is advised against', () => {
    const error = new GatewayError('rate_limit_exceeded', 'svc-pro needs a paid plan', {
      type: 'plan_limit',
      retryAfterMs: 0,
    })
    expect(render(error)).toEqual({
      status: 429,
      headers: { 'x-should-retry': 'false' },
      body: {
        error: {
          code: 'rate_limit_exceeded',
          type: 'plan_limit',
          message: 'svc-pro needs a paid plan',
          retry_after_ms: 0,
          docs: links.docsUrl,
        },
      },
    })
  })

  test.each(['account', 'key', 'model'] as const)(
    'a refusal by a limit of scope %s says so beside its type',
    (scope) => {
      const limited = new GatewayError('rate_limit_exceeded', 'Too many requests', { type: 'requests', scope })
      const usedUp = new GatewayError('quota_exceeded', 'The allowance is used up', { scope })
      for (const error of [limited, usedUp]) {
        for (const dialect of clientDialects) {
          const { body } = renderError(error, links, { dialect, isNested: true })
          expect(JSON.parse(body)).toMatchObject({ error: { scope } })
        }
        expect(render(error).body).toMatchObject({ error: { scope } })
      }
    },
  )

  test('quota_exceeded is a nested 402 with the reset date and where to top up', () => {
    const error = new GatewayError('quota_exceeded', 'The allowance is used up', {
      resetDate: '2026-12-01T00:00:00.000Z',
      overageEnabled: true,
    })
    expect(render(error)).toEqual({
      status: 402,
      headers: { 'x-should-retry': 'false' },
      body: {
        error: {
          code: 'quota_exceeded',
          message: 'The allowance is used up',
          resetDate: '2026-12-01T00:00:00.000Z',
          topupUrl: links.topupUrl,
          overageEnabled: true,
        },
      },
    })
  })

  test('quota_exceeded of a project names the project to the top-up page, in every dialect', () => {
    const error = new GatewayError('quota_exceeded', 'The spend limit is used up', { project: 'proj_search' })
    for (const dialect of clientDialects) {
      const { body } = renderError(error, links, { dialect })
      expect(JSON.parse(body)).toMatchObject({ error: { topupUrl: `${links.topupUrl}?project=proj_search` } })
    }
  })

  test('UPSTREAMS_EXHAUSTED is a flat 503 plus tier and attempted, and may be retried', () => {
    const details = { tier: 'svc-core', attempted: ['gpu-a', 'gpu-b'] }
    expect(render(new GatewayError('UPSTREAMS_EXHAUSTED', 'All backends are unavailable', details))).toEqual({
      status: 503,
      headers: {},
      body: { error: 'All backends are unavailable', code: 'UPSTREAMS_EXHAUSTED', ...details },
    })
  })

  test('VALIDATION_ERROR is a flat 400 whose message names the field', () => {
    expect(render(new GatewayError('VALIDATION_ERROR', 'messages: is required'))).toEqual({
      status: 400,
      headers: { 'x-should-retry': 'false' },
      body: { error: 'messages: is required', code: 'VALIDATION_ERROR' },
    })
  })
})

describe('where the contract is silent, errors are nested, as OpenAI’s clients read them', () => {
  test.each<[ErrorCode, number, string, boolean]>([
    ['MODEL_NOT_FOUND', 404, 'invalid_request_error', false],
    ['NOT_FOUND', 404, 'invalid_request_error', false],
    ['FORBIDDEN', 403, 'invalid_request_error', false],
    ['PAYLOAD_TOO_LARGE', 413, 'invalid_request_error', false],
    ['UNSUPPORTED_MEDIA_TYPE', 415, 'invalid_request_error', false],
    ['CLIENT_TIMEOUT', 408, 'invalid_request_error', true],
    ['SERVICE_UNAVAILABLE', 503, 'server_error', true],
    ['INTERNAL_ERROR', 500, 'server_error', true],
  ])('%s is a nested %i of the type %s; retrying helps: %s', (code, status, type, retryHelps) => {
    expect(render(new GatewayError(code, 'Why'))).toEqual({
      status,
      headers: retryHelps ? {} : { 'x-should-retry': 'false' },
      body: { error: { message: 'Why', type, param: null, code } },
    })
  })

  test('METHOD_NOT_ALLOWED says which methods are', () => {
    const { status, headers } = render(new GatewayError('METHOD_NOT_ALLOWED', 'Use POST', { allow: 'POST' }))
    expect([status, headers]).toEqual([405, { allow: 'POST' }])
  })
})

describe('a client that reads nested errors alone gets the same words and code nested', () => {
  const nested = (error: GatewayError) => JSON.parse(renderError(error, links, { isNested: true }).body) as unknown

  test.each<[ErrorCode, string]>([
    ['NO_AUTH', 'Unauthorized'],
    ['INVALID_KEY', 'Invalid key'],
    ['INVALID_TOKEN', 'Invalid token format'],
    ['VALIDATION_ERROR', 'Why'],
  ])('%s', (code, message) => {
    const type = 'invalid_request_error'
    expect(nested(new GatewayError(code, 'Why'))).toEqual({ error: { message, type, param: null, code } })
  })

  test('UPSTREAMS_EXHAUSTED keeps tier and attempted', () => {
    const details = { tier: 'svc-core', attempted: ['gpu-a', 'gpu-b'] }
    expect(nested(new GatewayError('UPSTREAMS_EXHAUSTED', 'Why', details))).toEqual({
      error: { message: 'Why', type: 'server_error', param: null, code: 'UPSTREAMS_EXHAUSTED', ...details },
    })
  })

  test('a limit and a used-up allowance are the same as ever', () => {
    for (const code of ['rate_limit_exceeded', 'quota_exceeded'] as const) {
      const error = new GatewayError(code, 'Why')
      expect(nested(error)).toEqual(render(error).body)
    }
  })
})

test('every code gives the status, the shape and the code of its table, and nothing of its cause', () => {
  for (const [code, status] of Object.entries(ERROR_STATUS) as [ErrorCode, number][]) {
    const rendered = render(new GatewayError(code, 'Why', {}, { cause: new Error('db password hunter22') }))
    const ofLimits = { rate_limit_exceeded: rateLimitBody, quota_exceeded: quotaExceededBody }
    const schema = Object.entries(ofLimits).find(([name]) => name === code)?.[1]
    const shape = schema ?? (isFlat(code) ? flatErrorBody : nestedErrorBody)
    expect(rendered.status).toBe(status)
    expect(shape.parse(rendered.body)).toEqual(rendered.body)
    expect(JSON.stringify(rendered)).not.toContain('hunter22')
  }
})

describe("the other dialects have their own shape, with the contract's statuses, codes and additions", () => {
  const bodyOf = (error: GatewayError, dialect: 'responses' | 'messages') =>
    JSON.parse(renderError(error, links, { dialect }).body) as unknown

  test('every code, in both', () => {
    for (const [code, status] of Object.entries(ERROR_STATUS) as [ErrorCode, number][]) {
      const error = new GatewayError(code, 'Why', {}, { cause: new Error('db password hunter22') })
      for (const [dialect, schema] of [
        ['responses', nestedErrorBody],
        ['messages', messagesError],
      ] as const) {
        const rendered = renderError(error, links, { dialect })
        expect(rendered).toMatchObject({ status, headers: renderError(error, links).headers })
        expect(schema.parse(bodyOf(error, dialect))).toMatchObject({ error: { code } })
        expect(rendered.body).not.toContain('hunter22')
      }
    }
  })

  test('a limit', () => {
    const error = new GatewayError('rate_limit_exceeded', 'Wait', { type: 'tokens', retryAfterMs: 12.5 })
    const more = { retry_after_ms: 13, docs: links.docsUrl }
    expect(bodyOf(error, 'responses')).toEqual({
      error: { code: 'rate_limit_exceeded', type: 'tokens', message: 'Wait', param: null, ...more },
    })
    expect(bodyOf(error, 'messages')).toEqual({
      type: 'error',
      error: { type: 'rate_limit_error', message: 'Wait', code: 'rate_limit_exceeded', limit: 'tokens', ...more },
      request_id: null,
    })
    const rendered = renderError(error, links, { dialect: 'messages', requestId: 'req-1' })
    expect(JSON.parse(rendered.body)).toMatchObject({ request_id: 'req-1' })
  })

  test.each([
    ['INVALID_KEY', 'authentication_error', 'invalid_request_error'],
    ['quota_exceeded', 'billing_error', 'invalid_request_error'],
    ['MODEL_NOT_FOUND', 'not_found_error', 'invalid_request_error'],
    ['PAYLOAD_TOO_LARGE', 'request_too_large', 'invalid_request_error'],
    ['UPSTREAMS_EXHAUSTED', 'overloaded_error', 'server_error'],
    ['INTERNAL_ERROR', 'api_error', 'server_error'],
  ] as const)('%s is %s to Anthropic’s clients and %s to OpenAI’s', (code, messages, responses) => {
    const error = new GatewayError(code, 'Why')
    expect(bodyOf(error, 'messages')).toMatchObject({ error: { type: messages } })
    expect(bodyOf(error, 'responses')).toMatchObject({ error: { type: responses } })
  })
})

describe('a refusal by a target keeps its own code, type and parameter, with ours beside it', () => {
  const refusal = { code: 'context_length_exceeded', type: 'invalid_request_error', param: 'messages' }
  const error = new GatewayError('VALIDATION_ERROR', 'prompt is too long', { refusal })
  const more = { ...refusal, message: 'prompt is too long', gateway_code: 'VALIDATION_ERROR' }

  test.each(['chat', 'responses'] as const)('to every client of %s nested', (dialect) => {
    const { status, headers, body } = renderError(error, links, { dialect })
    expect([status, headers]).toEqual([400, { 'x-should-retry': 'false' }])
    expect(JSON.parse(body)).toEqual({ error: more })
  })

  test('to clients of Messages under the type that Anthropic has for the status', () => {
    const { body } = renderError(error, links, { dialect: 'messages', requestId: 'req-1' })
    expect(JSON.parse(body)).toEqual({ type: 'error', error: more, request_id: 'req-1' })
  })
})

describe('the error of an only target, for a client of the same API', () => {
  const body = JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message: 'Slow down', of: [1] } })
  const target = { status: 429, body, shouldRetry: true }
  const error = new GatewayError('UPSTREAMS_EXHAUSTED', 'None left', { tier: 'nova', retryAfterMs: 2_000, target })

  test('has its status, its members and its advice, with ours beside them', () => {
    const rendered = renderError(error, links, { dialect: 'messages', requestId: 'req-1' })
    expect(rendered).toMatchObject({ status: 429, headers: { 'retry-after': '2', 'x-should-retry': 'true' } })
    const ours = { code: 'UPSTREAMS_EXHAUSTED', gateway_code: 'UPSTREAMS_EXHAUSTED', tier: 'nova', attempted: [] }
    expect(JSON.parse(rendered.body)).toEqual({
      type: 'error',
      error: { type: 'rate_limit_error', message: 'Slow down', of: [1], ...ours },
      request_id: 'req-1',
    })
  })

  test('is nothing to clients of other APIs', () => {
    for (const dialect of ['chat', 'responses'] as const) {
      const { status, body } = renderError(error, links, { dialect })
      expect([status, body]).toEqual([503, expect.not.stringContaining('Slow down')])
    }
  })
})

test('every kind of limit that waiting helps with says how long, in all three places', () => {
  for (const type of rateLimitTypes.filter((type) => type !== 'plan_limit')) {
    const { headers, body } = render(new GatewayError('rate_limit_exceeded', 'Wait', { type, retryAfterMs: 60_000 }))
    expect(headers).toEqual({ 'retry-after-ms': '60000', 'retry-after': '60' })
    expect(body).toMatchObject({ error: { type, retry_after_ms: 60_000 } })
  }
})

test('the private reason stays with the error, for the log', () => {
  const cause = new Error('connection refused')
  const error = new GatewayError('SERVICE_UNAVAILABLE', 'Try again shortly', {}, { cause })
  expect([error.name, error.cause]).toEqual(['GatewayError', cause])
})

test('a refusal for too much load says when to come back; other 503 leave that to the client', () => {
  const links = { docsUrl: 'http://docs', topupUrl: 'http://topup' }
  const refusal = new GatewayError('SERVICE_UNAVAILABLE', 'Too much', { retryAfterMs: 1_200 })
  expect(renderError(refusal, links)).toMatchObject({
    status: 503,
    headers: { 'retry-after-ms': '1200', 'retry-after': '2' },
    body: '{"error":{"message":"Too much","type":"server_error","param":null,"code":"SERVICE_UNAVAILABLE"}}',
  })
  expect(renderError(new GatewayError('SERVICE_UNAVAILABLE', 'Away'), links).headers).toEqual({})
})
