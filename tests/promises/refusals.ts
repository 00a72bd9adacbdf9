/**
 * Every way in which a request is refused, with the body that the contract gives it.
 */

import { beforeAll, describe, expect, test } from 'vitest'
import { userMessages, type Caller, type Gateway, newGuest, send } from './gateway.ts'

/** The body of a code that the contract does not list. */
const nested = (code: string, said = '') => ({
  error: { message: expect.stringContaining(said) as string, type: 'invalid_request_error', param: null, code },
})

export function promiseRefusals(gateway: () => Gateway): void {
  describe('refusals', () => {
    const url = () => gateway().urls[0]
    const chat = { model: 'svc-instant', messages: userMessages('hi') }
    let guest: Caller
    beforeAll(async () => {
      guest = await newGuest(gateway())
    })

    test.each(['/v1/chat/completions', '/v1/embeddings', '/v1/images/generations'])(
      'POST %s without a credential: 401 NO_AUTH',
      async (path) => {
        const { status, body } = await send(url(), path, { body: chat })
        expect({ status, body }).toEqual({ status: 401, body: { error: 'Unauthorized', code: 'NO_AUTH' } })
      },
    )

    test('GET /billing/quota without a credential: 401 NO_AUTH', async () => {
      const { status, body } = await send(url(), '/billing/quota')
      expect({ status, body }).toEqual({ status: 401, body: { error: 'Unauthorized', code: 'NO_AUTH' } })
    })

    test.each([
      ['with the format and the checksum of a key', 'svc_0000000000000000000000000000000000000000000000000000000000'],
      ['that merely begins like one', 'svc_nonsense'],
    ])('an unknown key %s: 401 INVALID_KEY', async (_, key) => {
      for (const path of ['/v1/chat/completions', '/billing/quota']) {
        const { status, body } = await send(url(), path, { key, ...(path === '/billing/quota' ? {} : { body: chat }) })
        expect({ status, body }).toEqual({ status: 401, body: { error: 'Invalid key', code: 'INVALID_KEY' } })
      }
    })

    test('a credential that is neither a key nor a token: 401 INVALID_TOKEN', async () => {
      const { status, body } = await send(url(), '/v1/chat/completions', { key: 'sk-abcdef', body: chat })
      expect({ status, body }).toEqual({ status: 401, body: { error: 'Invalid token format', code: 'INVALID_TOKEN' } })
    })

    test.each<[string, string, unknown]>([
      ['messages', '/v1/chat/completions', { model: 'svc-instant' }],
      ['messages', '/v1/chat/completions', { ...chat, messages: [] }],
      ['messages', '/v1/chat/completions', { ...chat, messages: 'hi' }],
      ['role', '/v1/chat/completions', { ...chat, messages: [{ role: 'wizard', content: 'hi' }] }],
      ['content', '/v1/chat/completions', { ...chat, messages: [{ role: 'user' }] }],
      ['temperature', '/v1/chat/completions', { ...chat, temperature: 'hot' }],
      ['max_tokens', '/v1/chat/completions', { ...chat, max_tokens: 0 }],
      ['max_tokens', '/v1/chat/completions', { ...chat, max_tokens: 1.5 }],
      ['stream', '/v1/chat/completions', { ...chat, stream: 'yes' }],
      ['model', '/v1/chat/completions', { ...chat, model: 5 }],
      ['input', '/v1/embeddings', { model: 'svc-embed' }],
      ['input', '/v1/embeddings', { model: 'svc-embed', input: [1, 'two'] }],
      ['prompt', '/v1/images/generations', { model: 'svc-image' }],
      ['size', '/v1/images/generations', { model: 'svc-image', prompt: 'x', size: 'huge' }],
      ['response_format', '/v1/images/generations', { model: 'svc-image', prompt: 'x', response_format: 'url' }],
      ['output_format', '/v1/images/generations', { model: 'svc-image', prompt: 'x', output_format: 'jpeg' }],
      ['stream', '/v1/images/generations', { model: 'svc-image', prompt: 'x', stream: true }],
      ['device_id', '/v1/keys/guest', {}],
      ['device_id', '/v1/keys/guest', { device_id: 7 }],
    ])('400 VALIDATION_ERROR names the field %s (POST %s)', async (field, path, request) => {
      const { status, body, headers } = await send(url(), path, { key: guest.key, body: request })
      expect({ status, code: body['code'] }).toEqual({ status: 400, code: 'VALIDATION_ERROR' })
      expect(body['error']).toContain(field)
      expect(headers.get('x-should-retry')).toBe('false')
    })

    test('a body that is not JSON: 400; not said to be JSON: 415; above 25 MB: 413', async () => {
      const post = (body: string, type = 'application/json') =>
        send(url(), '/v1/chat/completions', { key: guest.key, body, headers: { 'content-type': type } })
      expect(await post('{"model":')).toMatchObject({ status: 400, body: { code: 'VALIDATION_ERROR' } })
      expect(await post('model=x', 'application/x-www-form-urlencoded')).toMatchObject({
        status: 415,
        body: nested('UNSUPPORTED_MEDIA_TYPE'),
      })
      const huge = JSON.stringify({ ...chat, messages: userMessages('x'.repeat(26 * 1024 * 1024)) })
      expect(await post(huge)).toMatchObject({ status: 413, body: nested('PAYLOAD_TOO_LARGE') })
    })

    test('a model that does not exist: 404 MODEL_NOT_FOUND', async () => {
      const { status, body } = await send(url(), '/v1/chat/completions', {
        key: guest.key,
        body: { ...chat, model: 'gpt-99' },
      })
      expect({ status, body }).toEqual({
        status: 404,
        body: nested('MODEL_NOT_FOUND', 'gpt-99'),
      })
    })

    test('a model of the wrong kind: 400 that names the field', async () => {
      const wrong = await send(url(), '/v1/chat/completions', { key: guest.key, body: { ...chat, model: 'svc-embed' } })
      expect(wrong).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_ERROR', error: expect.stringContaining('model') },
      })
    })

    test.each(['svc-pro', 'svc-max', 'svc-vision', 'svc-reason'])(
      'a guest that requests %s: 429 rate_limit_exceeded of type plan_limit, and no retry',
      async (model) => {
        const { status, body, headers } = await send(url(), '/v1/chat/completions', {
          key: guest.key,
          body: { ...chat, model },
        })
        expect(status).toBe(429)
        expect(body).toEqual({
          error: {
            code: 'rate_limit_exceeded',
            type: 'plan_limit',
            message: expect.stringContaining(model),
            scope: 'account',
            retry_after_ms: 0,
            docs: expect.stringMatching(/^https?:/),
          },
        })
        expect(headers.get('x-should-retry')).toBe('false')
      },
    )

    test('an address that does not exist: 404; a method that does not: 405 with Allow', async () => {
      expect(await send(url(), '/v1/nothing')).toMatchObject({ status: 404, body: nested('NOT_FOUND', '/v1/nothing') })
      const wrong = await send(url(), '/v1/chat/completions', { method: 'DELETE', key: guest.key })
      expect(wrong).toMatchObject({ status: 405, body: nested('METHOD_NOT_ALLOWED') })
      expect(wrong.headers.get('allow')).toBe('POST')
    })

    test('another view of the catalog: 400', async () => {
      const reply = await send(url(), '/v1/catalog?view=prices')
      expect(reply).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_ERROR', error: expect.stringContaining('view') },
      })
    })
  })
}
