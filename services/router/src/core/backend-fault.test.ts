import { describe, expect, test } from 'vitest'
import {
  BackendFault,
  attributeFailure,
  isContextOverflow,
  isRequestsOwnFault,
  isWorthRepeating,
  classifyFault,
  type FaultKind,
} from './backend-fault.ts'
import { meaningsOf } from '../vendors/meanings.ts'
import { plain } from '../vendors/plain.ts'

const status = (code: number, retryAfterMs?: number) =>
  new BackendFault('status', '', { status: code, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) })
const classified = (code: number, body: object) =>
  classifyFault(new BackendFault('status', '', { status: code, body: JSON.stringify(body) }), {
    clientRequest: Buffer.from('{"messages":[{"content":[{"file_id":"file_011CNha8iCJc"}]}]}'),
    secrets: [],
    meanings: meaningsOf(plain).errors,
  })
const kind = (name: FaultKind) => new BackendFault(name, '')

describe('the consequences of a fault', () => {
  test.each([400, 413, 414, 415, 422, 451])('%i is the request’s own fault and no target’s failure', (code) => {
    expect(isRequestsOwnFault(status(code))).toBe(true)
    expect(attributeFailure(status(code)).on).toBe('nobody')
  })

  test.each([401, 402, 403, 404, 405, 408, 409, 425, 429, 500, 501, 502, 503, 504, 529, 301])(
    '%i is the backend’s fault',
    (code) => {
      expect(isRequestsOwnFault(status(code))).toBe(false)
      expect(attributeFailure(status(code)).on).not.toBe('nobody')
    },
  )

  test.each([
    ['a refused connection takes the backend out at once', kind('connect'), { on: 'backend', weight: 'hard' }],
    ['a wrong credential too', status(401), { on: 'backend', weight: 'hard' }],
    ['an unknown model only that model', status(404), { on: 'target', weight: 'hard' }],
    ['a server error only in a row', status(500), { on: 'backend', weight: 'soft' }],
    ['a rate limit cools as long as it says', status(429, 7_000), { on: 'target', weight: 'soft', coolMs: 7_000 }],
    ['a rate limit without a time cools a second', status(429), { on: 'target', weight: 'soft', coolMs: 1_000 }],
    ['no rate limit cools for ever', status(429, 1e12), { on: 'target', weight: 'soft', coolMs: 300_000 }],
    ['running out of the request’s own time is nobody’s fault', kind('out_of_time'), { on: 'nobody', weight: 'soft' }],
  ])('%s', (_, fault, attribution) => {
    expect(attributeFailure(fault)).toEqual(attribution)
  })

  test('passing troubles are worth a repeat, and so is a target that was left waiting; misconfiguration is not', () => {
    const passing = [kind('reset'), kind('connect'), kind('first_byte_timeout'), status(503), status(429)]
    const lasting = [kind('dns'), kind('tls'), status(401), status(404)]
    expect(passing.every((fault) => isWorthRepeating(fault))).toBe(true)
    expect(lasting.some((fault) => isWorthRepeating(fault))).toBe(false)
  })

  test.each([
    [403, { code: 'permission-denied', error: 'Content violates usage guidelines. ' }],
    [403, { error: { message: 'Input token count + max_tokens parameter must be less than the context length' } }],
    [404, { error: { message: 'No endpoints found that support tool use. Try disabling "look".', code: 404 } }],
    [404, { error: { message: "Item with id 'rs_04962823ecde01b9' not found. Items are not persisted", code: null } }],
  ])('%i with %j is of the request, so it takes the target from nobody', (code, body) => {
    const fault = classified(code, body)
    expect(isRequestsOwnFault(fault)).toBe(true)
    expect(attributeFailure(fault).on).toBe('nobody')
  })

  test.each([
    [403, { code: 'permission-denied', error: 'Access to the chat endpoint is denied' }, 'backend'],
    [404, { error: { message: 'No endpoints found for a/model.', code: 404 } }, 'target'],
    [404, { error: { message: 'The model `a-model` does not exist', code: 'model_not_found' } }, 'target'],
  ])('%i with %j is of the %s', (code, body, on) => {
    const fault = classified(code, body)
    expect(isRequestsOwnFault(fault)).toBe(false)
    expect(attributeFailure(fault)).toMatchObject({ on: on.replace(/.* /, ''), weight: 'hard' })
  })

  test('a 404 that names a thing of the client takes the target from nobody, and another one is tried', () => {
    const fault = classified(404, {
      error: { type: 'not_found_error', message: 'no such document: file_011CNha8iCJc' },
    })
    expect(isRequestsOwnFault(fault)).toBe(false)
    expect(attributeFailure(fault).on).toBe('nobody')
  })

  test.each([
    `{"error":{"code":"context_length_exceeded"}}`,
    `{"message":"This model's maximum context length is 4096 tokens."}`,
    `{"error":{"type":"exceed_context_size_error"}}`,
    `{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}`,
  ])('a prompt that is too long is reported apart: %s', (body) => {
    expect(isContextOverflow(new BackendFault('status', '', { status: 400, body }))).toBe(true)
    expect(isContextOverflow(new BackendFault('status', '', { status: 400, body: '{"error":"bad role"}' }))).toBe(false)
  })
})
