import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createCpuShares, MOMENT_MS, SHARE, took, tookFor, waitFor } from './cpu-shares.ts'

const turn = fc.record({
  sender: fc.constantFrom('a', 'b', 'c'),
  afterMs: fc.integer({ min: 0, max: 400 }),
  ms: fc.double({ min: 0, max: 30, noNaN: true }),
})

test('a sender that waits for the stated time takes no more than its share and a moment, for all loads of the others', () => {
  fc.assert(
    fc.property(fc.array(turn, { minLength: 1, maxLength: 200 }), (turns) => {
      const shares = createCpuShares()
      const taken = new Map<string, number>()
      let nowMs = 0
      for (const { sender, afterMs, ms } of turns) {
        nowMs += afterMs
        if (waitFor(shares, sender, nowMs) > 0) continue
        took(shares, sender, ms, nowMs)
        taken.set(sender, (taken.get(sender) ?? 0) + ms)
        expect(taken.get(sender)).toBeLessThanOrEqual(nowMs * SHARE + MOMENT_MS + 30)
      }
    }),
  )
})

test('a sender is refused for its own work alone, and not after the stated wait', () => {
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 200 }), (turns) => {
      const [together, alone] = [createCpuShares(), createCpuShares()]
      let nowMs = 0
      for (const { sender, afterMs, ms } of turns) {
        nowMs += afterMs
        took(together, sender, ms, nowMs)
        if (sender === 'a') took(alone, 'a', ms, nowMs)
        expect(waitFor(together, 'a', nowMs)).toBe(waitFor(alone, 'a', nowMs))
        const waitMs = waitFor(together, sender, nowMs)
        expect(waitFor(together, sender, nowMs + waitMs)).toBeCloseTo(0)
      }
    }),
  )
})

test('work of a key that is proven later is its account’s, and the network owes nothing of it', () => {
  const shares = createCpuShares()
  took(shares, 'unproven 192.0.2.1', 100, 0)
  tookFor(shares, 'unproven 192.0.2.1', 'accounts a', 100, 0)
  expect(waitFor(shares, 'unproven 192.0.2.1', 0)).toBe(0)
  expect(waitFor(shares, 'accounts a', 0)).toBe((100 - MOMENT_MS) / SHARE)
  expect([...shares.keys()]).toEqual(['accounts a'])
})

test('a sender that never waits owes a second at most', () => {
  const shares = createCpuShares()
  for (let turns = 0; turns < 1_000; turns++) took(shares, 'a', 100, 0)
  expect(waitFor(shares, 'a', 0)).toBeLessThanOrEqual(1_000 / SHARE)
})
