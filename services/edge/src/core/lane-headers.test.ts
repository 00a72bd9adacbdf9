import { expect, test } from 'vitest'
import { chooseAuto } from '@gateway/auto/choose-auto'
import { servedModelConfig } from '@gateway/contracts/config'
import { adviceHeader, noticeHeaders, smartRouteHeader } from './lane-headers.ts'

test('the header tells the lane, the reason and how sure Auto is', () => {
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
const asked = (wish: object) => ({ model: 'svc-ultra-pro', ...wish })

test('a cap that thinking may use up is warned of, with both ways out', () => {
  expect(adviceHeader(thinker, asked({ outputCap: 1_999 }))).toEqual({
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
])('where %s there is no warning', (_, model, wish) => {
  expect(adviceHeader(model, asked(wish))).toEqual({})
})

const model = (fields: object) => servedModelConfig.parse({ id: 'svc-ultra', type: 'chat', pool: 'nova', ...fields })

test('a legacy model says since when it is deprecated and what replaces it', () => {
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
