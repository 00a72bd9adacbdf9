import { describe, expect, test } from 'vitest'
import { answerFailure, type AnswerFailure } from '@gateway/contracts/job'
import { failureToError } from './failure-to-error.ts'

const failure = (fields: Partial<AnswerFailure>): AnswerFailure => ({
  code: 'BACKEND_REFUSED',
  message: 'the backend refused the request',
  attempted: ['gpu-a', 'gpu-b'],
  attempts: [],
  ...fields,
})

describe('what a client is told of a failure', () => {
  test('all backends unavailable: the lane and what was attempted', () => {
    const error = failureToError(failure({ code: 'UPSTREAMS_EXHAUSTED' }), 'svc-instant')
    expect(error).toMatchObject({
      code: 'UPSTREAMS_EXHAUSTED',
      details: { tier: 'svc-instant', attempted: ['gpu-a', 'gpu-b'] },
    })
  })

  test('a code that only a newer router knows: an internal error, in the words of the router', () => {
    const newer = answerFailure.parse({ ...failure({}), code: 'BACKEND_ON_HOLIDAY' })
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
  ])("a request's own fault is told in the backend's words: %s", (backendBody, sentence) => {
    const error = failureToError(failure({ backendStatus: 422, backendBody }), 'svc-instant')
    expect(error).toMatchObject({ code: 'VALIDATION_ERROR', message: sentence })
  })
})
