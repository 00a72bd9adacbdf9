import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decideGuestMint } from './mint-guest.ts'

const GUEST_MINTS_PER_HOUR = 20

const HOUR_MS = 3_600_000
const gaps = fc.array(fc.integer({ min: 0, max: 600_000 }), { maxLength: 200 })

test('no hour ever holds more than the cap, and nobody is refused below it', () => {
  fc.assert(
    fc.property(gaps, fc.integer({ min: 1, max: 40 }), (pauses, perHour) => {
      const admitted: number[] = []
      let log: number[] = []
      let nowMs = Date.UTC(2026, 10, 1)
      for (const pause of pauses) {
        nowMs += pause
        const inLastHour = admitted.filter((timeMs) => timeMs > nowMs - HOUR_MS).length
        const decision = decideGuestMint(log, nowMs, perHour)
        expect(decision.kind).toBe(inLastHour < perHour ? 'admitted' : 'limited')
        if (decision.kind === 'limited') continue
        admitted.push(nowMs)
        log = decision.log
        expect(log.length).toBeLessThanOrEqual(perHour)
      }
    }),
  )
})

test('a request after the stated wait is admitted, and a moment less is not enough', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: HOUR_MS - 1 }), {
        minLength: GUEST_MINTS_PER_HOUR,
        maxLength: GUEST_MINTS_PER_HOUR,
      }),
      (ages) => {
        const nowMs = Date.UTC(2026, 10, 1)
        const log = ages.map((age) => nowMs - age).sort((a, b) => a - b)
        const decision = decideGuestMint(log, nowMs, GUEST_MINTS_PER_HOUR)
        if (decision.kind !== 'limited') throw new Error('not limited')
        expect(decideGuestMint(log, nowMs + decision.retryAfterMs, GUEST_MINTS_PER_HOUR).kind).toBe('admitted')
        expect(decideGuestMint(log, nowMs + decision.retryAfterMs - 1, GUEST_MINTS_PER_HOUR).kind).toBe('limited')
      },
    ),
  )
})
