import fc from 'fast-check'
import { expect, test } from 'vitest'
import { requestIdAt } from '../../test/usage-events.ts'
import { addMonths, leastRequestIdOf, monthOf, monthOfRequest } from './ledger.ts'

const time = fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2100, 0) })

test('a request id lies between the bounds of the month in which it was made', () => {
  fc.assert(
    fc.property(time, (timeMs) => {
      const id = requestIdAt(timeMs)
      const month = monthOf(timeMs)
      expect(monthOfRequest(id)).toBe(month)
      expect(leastRequestIdOf(month) <= id && id < leastRequestIdOf(addMonths(month, 1))).toBe(true)
    }),
  )
})

test('months are counted across years, both ways', () => {
  expect(addMonths('2026-11', 2)).toBe('2027-01')
  expect(addMonths('2026-01', -24)).toBe('2024-01')
})

test('an id of an impossible time belongs to no month', () => {
  expect(monthOfRequest('ffffffff-ffff-7fff-8fff-ffffffffffff')).toBeNull()
})
