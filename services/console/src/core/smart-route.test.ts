import { expect, test } from 'vitest'
import { readSmartRoute } from './smart-route.ts'

test('the lane and the reason are shown in words', () => {
  expect(readSmartRoute('svc-research; reason=time-sensitive')).toEqual({
    lane: 'svc-research',
    reason: 'time sensitive',
  })
  expect(readSmartRoute('svc-research; reason=time-sensitive; confidence=0.83').reason).toBe('time sensitive')
  expect(readSmartRoute('svc-core')).toEqual({ lane: 'svc-core', reason: '' })
})
