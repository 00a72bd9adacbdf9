import fc from 'fast-check'
import { expect, test } from 'vitest'
import { judgeMonth } from './meter.ts'

test.each([
  { used: 0, running: 0, limit: 1000, verdict: 'fits' },
  { used: 999, running: 0, limit: 1000, verdict: 'fits' },
  { used: 1000, running: 0, limit: 1000, verdict: 'allowance' },
  { used: 999, running: 1, limit: 1000, verdict: 'pending' },
  { used: 0, running: 999, limit: 1000, verdict: 'fits' },
  { used: 0, running: 0, limit: 0, verdict: 'allowance' },
  { used: 5000, running: 5000, limit: null, verdict: 'fits' },
])('$used used and $running running of $limit: $verdict', ({ used, running, limit, verdict }) => {
  expect(judgeMonth({ settled: used, ended: 0, running }, limit)).toBe(verdict)
})

test('the limit is passed by less than the worst case of the one admitted last', () => {
  const amounts = fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 100 })
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 5000 }),
      fc.integer({ min: 1, max: 6000 }),
      amounts,
      (used, limit, worstCases) => {
        let running = 0
        for (const worst of worstCases) {
          if (judgeMonth({ settled: used, ended: 0, running }, limit) !== 'fits') continue
          running += worst
          expect(used + running).toBeLessThan(limit + worst)
        }
      },
    ),
  )
})
