/**
 * A refusal's `retryAfterMs` is true: waiting that long admits, and waiting 50 ms less does not. (Only `pending` is a
 * guess: nobody knows when a running request ends. Requests here cost nothing while they run.)
 */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DAY_MS } from '../core/month.ts'
import { onEachAdapter } from './adapters.ts'
import { HOUR_MS, knownAccount, MINUTE_MS, SECOND_MS, type Stage, verdict, waitOf } from './stage.ts'
import { limitsWith } from './limits.ts'

const HONEST_TO_MS = 50
const RUNS = 150

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('ask' as const), usualTokens: fc.nat({ max: 1_500 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('end' as const), tokens: fc.nat({ max: 3_000 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.oneof(fc.integer({ min: 1, max: 40_000 }), fc.constantFrom(1, 49, 50, 51, MINUTE_MS)),
    }),
  },
)

const history = fc.record({
  limits: fc.record({
    requestsPerMinute: fc.integer({ min: 1, max: 4 }),
    tokensPerMinute: fc.integer({ min: 1, max: 1_000 }),
    requestsPerDay: fc.option(fc.integer({ min: 1, max: 8 })),
    allowance: fc.oneof(
      { weight: 1, arbitrary: fc.constant(1e12) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 2_000 }) },
    ),
  }),
  steps: fc.array(step, { minLength: 3, maxLength: 25, size: 'max' }),
})

onEachAdapter((open) => {
  test('after any history, waiting for `retryAfterMs` admits and waiting 50 ms less does not', async () => {
    const seen = new Set<string>()
    const property = fc.asyncProperty(history, async ({ limits, steps }) => {
      await using stage = await knownAccount(open, limits)
      const running: string[] = []
      for (const [index, next] of steps.entries()) {
        if (next.kind === 'wait') stage.clock.advance(next.ms)
        else if (next.kind === 'end') {
          const requestId = running.shift()
          if (requestId) await stage.finish(requestId, next.tokens, next.tokens)
        } else {
          const request = { requestId: `request-${index}`, usualTokens: next.usualTokens, worstCharge: 0 }
          const reason = await retryUntilAdmitted(stage, request)
          if (reason) seen.add(reason)
          running.push(request.requestId)
        }
      }
    })
    await fc.assert(property, { numRuns: RUNS })
    expect([...seen].toSorted()).toEqual(['allowance', 'day', 'requests', 'tokens'])
  })

  test('a debt of more than a day is waited for until the bucket is full', async () => {
    await using stage = await knownAccount(open, { tokensPerMinute: 1 })
    await stage.admit({ usualTokens: DAY_MS / MINUTE_MS + 1, worstCharge: 0 })
    expect(await retryUntilAdmitted(stage, { usualTokens: 1, worstCharge: 0 })).toBe('tokens')
  })

  test('of several reached limits, the refusal names the longest', async () => {
    const limits = limitsWith({ requestsPerMinute: 2, tokensPerMinute: 100, requestsPerDay: 3, allowance: 1_000 })
    await using stage = await knownAccount(open, limits)
    const refusal = async (usualTokens: number) => {
      const decision = await stage.admit({ usualTokens })
      return [verdict(decision), waitOf(decision)]
    }
    await stage.admit({ requestId: 'first', usualTokens: 100 })
    stage.clock.advance(SECOND_MS)
    await stage.admit({ usualTokens: 1 })
    expect(await refusal(1)).toEqual(['requests', 59 * SECOND_MS])
    expect(await refusal(100)).toEqual(['tokens', 59_600])
    await stage.settle(1_000, 1, [])
    expect(await refusal(1)).toEqual(['allowance', 12 * HOUR_MS - SECOND_MS])
    await stage.finish('first', 0, 100_000)
    expect((await refusal(1))[0]).toBe('tokens')
  })
})

/** The reason of the first refusal, if there was one. */
async function retryUntilAdmitted(stage: Stage, request: Parameters<Stage['admit']>[0]): Promise<string | null> {
  const decision = await admitFilled(stage, request)
  if (decision.kind === 'allow') return null
  const [reason, waitMs] = [verdict(decision), waitOf(decision)]
  if (waitMs > HONEST_TO_MS) {
    stage.clock.advance(waitMs - HONEST_TO_MS)
    expect(verdict(await admitFilled(stage, request))).not.toBe('allow')
    stage.clock.advance(HONEST_TO_MS)
  } else {
    stage.clock.advance(waitMs)
  }
  expect(verdict(await admitFilled(stage, request))).toBe('allow')
  return reason
}

/** A new month begins unknown: keys and metering fill it, as they do for an edge. */
async function admitFilled(stage: Stage, request: Parameters<Stage['admit']>[0]) {
  const decision = await stage.admit(request)
  if (decision.kind !== 'miss' && decision.kind !== 'cold') return decision
  await stage.fill()
  await stage.warm()
  return stage.admit(request)
}
