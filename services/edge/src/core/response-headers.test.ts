import { expect, test } from 'vitest'
import { chooseAuto } from '@gateway/auto/choose-auto'
import { servedModelConfig } from '@gateway/contracts/config'
import type { QuotaStatus } from '@gateway/admission/port'
import {
  adviceHeader,
  anthropicLimitHeaders,
  lastingHeaders,
  noticeHeaders,
  smartRouteHeader,
  quotaStatusHeaders,
} from './response-headers.ts'

test("the header names the lane, the reason and Auto's confidence", () => {
  expect(smartRouteHeader({ laneId: 'svc-research', reason: 'time-sensitive', confidence: 0.8349 })).toBe(
    'svc-research; reason=time-sensitive; confidence=0.83',
  )
})

test('without a confidence the header ends with the reason', () => {
  expect(smartRouteHeader({ laneId: 'svc-core', reason: 'no-text' })).toBe('svc-core; reason=no-text')
})

test('Auto is surer of a plain case than of one between two lanes', () => {
  const lanes = ['svc-instant', 'svc-fast', 'svc-core', 'svc-pro', 'svc-research', 'svc-code']
  const sureness = (content: string): number => chooseAuto([{ role: 'user', content }], lanes).confidence ?? 0
  expect(sureness('Prove that there is no largest prime number')).toBeGreaterThan(0.9)
  expect(sureness('trees?')).toBeLessThan(sureness('Write a short story about a baker who cannot smell'))
})

test('a lane that stands in for the wanted one carries no confidence', () => {
  const stoodIn = chooseAuto([{ role: 'user', content: 'Prove that there is no largest prime' }], ['svc-instant'])
  expect(stoodIn).toEqual({ laneId: 'svc-instant', reason: 'best-available' })
  expect(stoodIn).not.toHaveProperty('confidence')
})

const thinker = { advisedMinOutputTokens: 2_000 }
const withOptions = (options: object) => ({ model: 'svc-ultra-pro', ...options })

test('a cap that thinking may use up is warned of, with both ways out', () => {
  expect(adviceHeader(thinker, withOptions({ outputCap: 1_999 }))).toEqual({
    'x-svc-warning':
      'svc-ultra-pro may use up max_tokens (1999) by thinking and leave the answer empty; ' +
      'allow at least 2000, or send chat_template_kwargs {"enable_thinking": false}',
  })
})

test.each([
  ['the cap is as large as advised', thinker, { outputCap: 2_000 }],
  ['there is no cap', thinker, {}],
  ['thinking is disabled', thinker, { outputCap: 10, thinkingDisabled: true }],
  ['nothing is advised for the model', {}, { outputCap: 10 }],
])('where %s there is no warning', (_, model, options) => {
  expect(adviceHeader(model, withOptions(options))).toEqual({})
})

const model = (fields: object) => servedModelConfig.parse({ id: 'svc-ultra', type: 'chat', pool: 'nova', ...fields })

test('a legacy model states the day of its deprecation and its replacement', () => {
  expect(noticeHeaders(model({ deprecatedAt: '2026-01-01', replacement: 'svc-core' }))).toEqual({
    deprecation: '@1767225600',
    link: '</v1/models/svc-core>; rel="successor-version"',
  })
})

test('a model whose end is set says when', () => {
  expect(noticeHeaders(model({ sunsetAt: '2027-06-01' }))).toEqual({ sunset: 'Tue, 01 Jun 2027 00:00:00 GMT' })
})

test('a current model says nothing', () => {
  expect(noticeHeaders(model({}))).toEqual({})
})

const quotaStatus: QuotaStatus = {
  plan: 'free',
  planVersion: 1,
  window: '2026-11',
  windowResetAtMs: Date.UTC(2026, 11, 1),
  used: 3_750,
  limit: 1_000_000_000,
  overage: false,
  requests: { limit: 60, remaining: 59, resetMs: 1_500 },
  tokens: { limit: 60_000, remaining: -12.5, resetMs: 360_000 },
  day: null,
  nowMs: Date.UTC(2026, 10, 21),
}

test('a client reads its standing in the units of its plan', () => {
  expect(quotaStatusHeaders(quotaStatus, 'tokens')).toEqual({
    'x-svc-quota-plan': 'free',
    'x-svc-quota-used': '3.75',
    'x-svc-quota-limit': '1000000',
    'x-svc-quota-reset': '2026-12-01T00:00:00.000Z',
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '59',
    'x-ratelimit-reset-requests': '1.5s',
    'x-ratelimit-limit-tokens': '60000',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-tokens': '6m0s',
  })
})

test('the smallest amounts and long waits are written as clients read numbers', () => {
  const headers = quotaStatusHeaders(
    { ...quotaStatus, used: 120, tokens: { ...quotaStatus.tokens, resetMs: 119_600 } },
    'usd',
    3,
  )
  expect(headers['x-svc-quota-used']).toBe('0.000000123')
  expect(headers['x-ratelimit-reset-tokens']).toBe('2m0s')
})

test("the headers count the request's own cost where it is known", () => {
  expect(quotaStatusHeaders(quotaStatus, 'tokens', 1_250)['x-svc-quota-used']).toBe('5')
})

test('a client of the Messages API reads the same limits under the names that it knows', () => {
  expect(anthropicLimitHeaders(quotaStatus)).toEqual({
    'anthropic-ratelimit-requests-limit': '60',
    'anthropic-ratelimit-requests-remaining': '59',
    'anthropic-ratelimit-requests-reset': '2026-11-21T00:00:01.500Z',
    'anthropic-ratelimit-tokens-limit': '60000',
    'anthropic-ratelimit-tokens-remaining': '0',
    'anthropic-ratelimit-tokens-reset': '2026-11-21T00:06:00.000Z',
  })
})

test('a kept response keeps the headers about its target, and not those about the account', () => {
  const headers = {
    'x-svc-quota-used': '5',
    'x-ratelimit-remaining-requests': '59',
    'x-svc-upstream': 'nova',
    'x-svc-smart-route': 'svc-core; reason=everyday',
    'x-svc-warning': 'small cap',
    deprecation: '@1767225600',
  }
  const { 'x-svc-quota-used': _used, 'x-ratelimit-remaining-requests': _remaining, ...lasting } = headers
  expect(lastingHeaders(headers)).toEqual(lasting)
})
