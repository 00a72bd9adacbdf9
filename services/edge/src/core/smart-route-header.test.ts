import { expect, test } from 'vitest'
import { chooseAuto } from '@gateway/auto/choose-auto'
import { smartRouteHeader } from './smart-route-header.ts'

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
