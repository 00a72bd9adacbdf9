import { ERROR_STATUS, GatewayError, rateLimitTypes, type ErrorCode } from '@gateway/contracts/errors'
import { renderError } from '@gateway/contracts/render-error'
import { clientDialects, type ClientDialect } from '@gateway/contracts/vendors'
import { describe, expect, test } from 'vitest'
import { explainResponse } from './explain-problem.ts'

const links = { docsUrl: 'https://docs.example', topupUrl: 'https://topup.example' }

function explain(error: GatewayError, dialect: ClientDialect = 'chat') {
  const { status, body } = renderError(error, links, { dialect })
  return explainResponse(status, JSON.parse(body), 'request-1')
}

describe.each(clientDialects)('every error of the contract has an explanation and advice: %s', (dialect) => {
  test.each(Object.keys(ERROR_STATUS) as ErrorCode[])('%s', (code) => {
    const error = new GatewayError(code, 'something went wrong', { resetDate: '2026-12-01T00:00:00Z' })
    const problem = explain(error, dialect)
    expect(problem.code).toBe(code)
    expect(problem.requestId).toBe('request-1')
    expect(problem.title).toMatch(/^[A-Z].*[^.]$/)
    expect(problem.advice).toMatch(/^[A-Z].*\.$/)
  })

  test.each(rateLimitTypes)('a limit of the kind %s', (type) => {
    const problem = explain(new GatewayError('rate_limit_exceeded', 'no', { type, retryAfterMs: 4_200 }), dialect)
    expect(problem.mayPass).toBe(type !== 'plan_limit')
    expect(problem.advice).toMatch(type === 'plan_limit' ? /included model/ : /Wait 5 seconds/)
  })
})

test('a used-up allowance names the day and the way to top up', () => {
  const problem = explain(new GatewayError('quota_exceeded', 'used up', { resetDate: '2026-12-01T00:00:00Z' }))
  expect(problem.advice).toContain('December 1, 2026')
  expect(problem.link).toEqual({ label: 'Top up', address: 'https://topup.example' })
})

test.each(clientDialects)('a target’s refusal is shown in the target’s words: %s', (dialect) => {
  const refusal = { code: 'context_length_exceeded', type: 'invalid_request_error', param: null }
  const problem = explain(new GatewayError('VALIDATION_ERROR', 'prompt is too long', { refusal }), dialect)
  expect(problem).toMatchObject({ code: 'VALIDATION_ERROR', advice: 'Prompt is too long.', mayPass: false })
})

test('backends that failed are named once each', () => {
  const error = new GatewayError('UPSTREAMS_EXHAUSTED', 'all failed', { tier: 'x', attempted: ['a', 'b', 'a'] })
  expect(explain(error).advice).toContain('Tried: a, b.')
})

test('an error outside of the contract is explained as a proxy’s', () => {
  expect(explainResponse(502, null)).toMatchObject({ code: 'HTTP_502', mayPass: true })
  expect(explainResponse(403, { message: 'no' })).toMatchObject({ code: 'HTTP_403', mayPass: false })
})
