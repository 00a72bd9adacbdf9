import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { renderError } from '@gateway/contracts/render-error'
import { responseFailure, type ResponseFailure } from '@gateway/contracts/job'
import { clientDialects } from '@gateway/contracts/vendors'
import { billOf, type Departure, failureToError, type Received, type LastWord } from './last-word.ts'

const usage = { promptTokens: 9, completionTokens: 3, cachedTokens: 0, reasoningTokens: 0, estimated: false }
const attempts = [
  { backend: 'a', model: 'model-a', outcome: 'http_503', durationMs: 1 },
  { backend: 'b', model: 'model-b', outcome: 'aborted', durationMs: 1 },
]
const SERVED = { backend: 'b', backendModel: 'model-b' }
const failed = { code: 'UPSTREAMS_EXHAUSTED', message: 'none left', attempted: ['a', 'b'], attempts } as const
const END: LastWord = { kind: 'end', end: { usage, attempts } }
const FAILURE: LastWord = { kind: 'failure', failure: { ...failed, attempted: [...failed.attempted] } }
const FAILURE_WITH_USAGE: LastWord = { kind: 'failure', failure: { ...FAILURE.failure, usage } }
/** The time for the headers that the client itself sets is over. */
const TIMED_OUT: LastWord = { kind: 'failure', failure: { ...FAILURE.failure, usage, clientTimedOut: true } }
const LOST: LastWord = { kind: 'lost' }
const WAITING: Received = { departure: null, head: null, events: 0, promptTokensEstimate: 11 }
const GONE: Received = { ...WAITING, departure: 'client_gone' }

const charged = (outcome: string, delivered = false) => ({
  kind: 'charge',
  charge: { served: SERVED, usage, outcome, delivered, attempts },
})

test.each([
  ['a whole answer', END, { ...WAITING, head: SERVED }, charged('completed', true)],
  ['a whole answer that its client has left', END, { ...GONE, head: SERVED }, charged('client_gone')],
  ['a failure before content', FAILURE, WAITING, { kind: 'nothing' }],
  ['a failure after content', FAILURE_WITH_USAGE, { ...WAITING, head: SERVED }, charged('backend_failed')],
  ['a client that left while a backend was at work', FAILURE_WITH_USAGE, GONE, charged('client_gone')],
  ['a client that left while none was', FAILURE, GONE, { kind: 'nothing' }],
  ['a client whose own time was over while a backend was at work', TIMED_OUT, WAITING, charged('client_gone')],
  ['a revoked key', FAILURE_WITH_USAGE, { ...GONE, departure: 'cut' as const }, charged('cut')],
  ['a router that was lost with all that it knew', LOST, GONE, { kind: 'unknown' }],
])('%s', (_name, word, received, bill) => {
  expect(billOf(word, received)).toEqual(bill)
})

test('a router that is lost after content costs the prompt and the events that came', () => {
  expect(billOf(LOST, { ...WAITING, head: SERVED, events: 4 })).toMatchObject({
    charge: { outcome: 'router_lost', usage: { promptTokens: 11, completionTokens: 4, estimated: true } },
  })
})

test('no client pays for a failure before content, and the usage of a last word is charged as it is', () => {
  const word = fc.constantFrom(END, FAILURE, FAILURE_WITH_USAGE, LOST)
  const received = fc.record({
    departure: fc.constantFrom<Departure | null>(null, 'client_gone', 'cut', 'router_lost', 'edge_lost'),
    head: fc.constantFrom(null, SERVED),
    events: fc.nat(),
    promptTokensEstimate: fc.nat(),
  })
  fc.assert(
    fc.property(word, received, (last, facts) => {
      const bill = billOf(last, facts)
      const isWaiting = facts.departure === null
      if (last.kind === 'failure' && isWaiting && !facts.head) expect(bill.kind).toBe('nothing')
      if (bill.kind !== 'charge') return
      expect(bill.charge.delivered).toBe(last.kind === 'end' && isWaiting && facts.head !== null)
      if (last === END || last === FAILURE_WITH_USAGE) expect(bill.charge.usage).toEqual(usage)
      if (!isWaiting) expect(bill.charge.outcome).toBe(facts.departure)
    }),
  )
})

const failure = (fields: Partial<ResponseFailure>): ResponseFailure => ({
  code: 'BACKEND_REFUSED',
  message: 'the backend refused the request',
  attempted: ['gpu-a', 'gpu-b'],
  attempts: [],
  ...fields,
})

describe('the error of a failure', () => {
  test('its own time is over: a code of its own, and no word of backends', () => {
    const error = failureToError(failure({ code: 'UPSTREAMS_EXHAUSTED', clientTimedOut: true }), 'svc-instant')
    expect(error.code).toBe('CLIENT_TIMEOUT')
    expect(error.message).toMatch(/own timeout/)
    expect(error.message).not.toMatch(/backend|unavailable/)
  })

  test('all backends want a pause: when the first is back', () => {
    const error = failureToError(failure({ code: 'UPSTREAMS_EXHAUSTED', retryAfterMs: 29_500 }), 'svc-instant')
    expect(error).toMatchObject({ code: 'UPSTREAMS_EXHAUSTED', details: { retryAfterMs: 29_500 } })
    for (const dialect of clientDialects) {
      const { status, headers } = renderError(error, { docsUrl: '', topupUrl: '' }, { dialect })
      expect(status).toBe(503)
      expect(headers).toMatchObject({ 'retry-after': '30', 'retry-after-ms': '29500' })
    }
  })

  test('all backends unavailable: the lane and the attempts', () => {
    const error = failureToError(failure({ code: 'UPSTREAMS_EXHAUSTED' }), 'svc-instant')
    expect(error).toMatchObject({
      code: 'UPSTREAMS_EXHAUSTED',
      details: { tier: 'svc-instant', attempted: ['gpu-a', 'gpu-b'] },
    })
  })

  test('a code that only a newer router knows: an internal error, in the words of the router', () => {
    const newer = responseFailure.parse({ ...failure({}), code: 'BACKEND_ON_HOLIDAY' })
    expect(failureToError(newer, 'svc-instant')).toMatchObject({ code: 'INTERNAL_ERROR', message: newer.message })
  })

  test.each([
    ['{"error":{"message":"temperature is too high"}}', 'temperature is too high'],
    ['{"error":"no such template"}', 'no such template'],
    ['{"message":"bad stop"}', 'bad stop'],
    [
      '{"detail":[{"loc":["body","stop"],"msg":"Extra inputs are not permitted"},{"loc":["body","tools",0],"msg":"bad"}]}',
      'stop: Extra inputs are not permitted; tools.0: bad',
    ],
    ['{"message":{"detail":[{"loc":["body","n"],"msg":"Field not taken"}]}}', 'n: Field not taken'],
    ['{"detail":"no such field: n"}', 'no such field: n'],
    ['{"detail":[{"loc":"body","msg":1},null]}', 'the backend refused the request'],
    ['null', 'the backend refused the request'],
    ['<html>', 'the backend refused the request'],
    [undefined, 'the backend refused the request'],
  ])(
    "a request's own fault is reported in the backend's words, where a router of the last release says no more: %s",
    (backendBody, sentence) => {
      const error = failureToError(failure({ backendStatus: 422, backendBody }), 'svc-instant')
      expect(error).toMatchObject({ code: 'VALIDATION_ERROR', message: sentence })
    },
  )

  test('a request that the router refuses: its words and the field', () => {
    const backendBody = '{"error":{"message":"tool_choice: must be auto","param":"tool_choice"}}'
    const error = failureToError(failure({ backendStatus: 400, backendBody }), 'svc-instant')
    expect(error).toMatchObject({ message: 'tool_choice: must be auto', details: { param: 'tool_choice' } })
  })

  test('a request that its target refuses: the target’s words, code, type and parameter', () => {
    const refusal = {
      message: 'too long',
      code: 'context_length_exceeded',
      type: 'invalid_request_error',
      param: 'messages',
    }
    const error = failureToError(failure({ backendStatus: 400, backendBody: '{}', refusal }), 'svc-instant')
    const { message, ...details } = refusal
    expect(error).toMatchObject({ code: 'VALIDATION_ERROR', message, details: { refusal: details } })
  })
})
