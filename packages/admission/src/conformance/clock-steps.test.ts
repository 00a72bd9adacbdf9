/**
 * Somebody sets the store's clock while requests come. Clients' time goes on.
 */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { onEachAdapter } from './adapters.ts'
import { knownAccount, MINUTE_MS, SECOND_MS, verdict } from './stage.ts'

const LIMIT = 3
const STEP_MS = 30 * SECOND_MS

type Act = { kind: 'ask' } | { kind: 'wait'; ms: number } | { kind: 'step'; byMs: number }

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: 'ask' } as const) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 20_000 }).map((ms) => ({ kind: 'wait', ms }) as const) },
  { weight: 1, arbitrary: fc.constantFrom(-STEP_MS, STEP_MS).map((byMs) => ({ kind: 'step', byMs }) as const) },
)

onEachAdapter((open) => {
  test('a step ahead lets the rate of a minute pass once more, and a step back does not', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 10, maxLength: 60 }), async (acts) => {
        await using stage = await knownAccount(open, { requestsPerMinute: LIMIT })
        let clientsMs = 0
        const admittedAtMs: number[] = []
        const aheadAtMs: number[] = []
        for (const one of acts) {
          if (one.kind === 'wait') clientsMs += one.ms
          if (one.kind === 'step' && one.byMs > 0) aheadAtMs.push(clientsMs)
          if (one.kind !== 'ask') stage.clock.advance(one.kind === 'wait' ? one.ms : one.byMs)
          else if (verdict(await stage.admit()) === 'allow') admittedAtMs.push(clientsMs)
          const withinMinute = (atMs: number) => atMs > clientsMs - MINUTE_MS
          const most = LIMIT * (1 + aheadAtMs.filter(withinMinute).length)
          expect(admittedAtMs.filter(withinMinute).length).toBeLessThanOrEqual(most)
        }
      }),
      { numRuns: 40 },
    )
  })

  test('a step ahead by a lease releases reservations until their edges renew them, and no tokens', async () => {
    await using stage = await knownAccount(open, { allowance: 1_000, tokensPerMinute: 1_000 })
    await stage.admit({ requestId: 'runs', worstCharge: 1_000, usualTokens: 1_000, leaseMs: STEP_MS })
    expect(verdict(await stage.admit())).toBe('tokens')
    stage.clock.advance(STEP_MS)
    const lease = { account: stage.account, requestId: 'runs', worstCharge: 1_000, window: '2026-11' }
    expect(verdict(await stage.admit({ usualTokens: 1 }))).toBe('allow')
    expect(await stage.admission.renew([lease], STEP_MS)).toEqual([])
    expect(verdict(await stage.admit({ usualTokens: 1 }))).toBe('pending')
    await stage.finish('runs', 700, 1_000)
    expect(await stage.used()).toBe(700)
  })
})
