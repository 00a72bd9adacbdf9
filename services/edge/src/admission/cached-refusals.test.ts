import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AdmitDecision, LimitScope } from '@gateway/admission/port'
import { cacheRefusals } from './cached-refusals.ts'

type Refusal = Extract<AdmitDecision, { kind: 'deny'; retryAfterMs: number }>
const NOW = { plan: 'free', overage: false, limit: 1_000 }

const of = (account: string) => ({ account, keyHash: 'hash' })

function refusal(reason: Refusal['reason'], retryAfterMs: number): Refusal {
  const quotaStatus = { plan: 'free', limit: 1_000 } as Refusal['quotaStatus']
  return { kind: 'deny', reason, retryAfterMs, quotaStatus }
}

test('a refusal holds for as long as it said, and for a minute at most', () => {
  let nowMs = 0
  const refusals = cacheRefusals(() => nowMs)
  refusals.note(of('short'), refusal('requests', 5_000))
  refusals.note(of('long'), refusal('allowance', 1e9))
  const held = () => ['short', 'long'].filter((account) => refusals.of(of(account), NOW))
  nowMs = 4_999
  expect(held()).toEqual(['short', 'long'])
  nowMs = 5_000
  expect(held()).toEqual(['long'])
  nowMs = 60_000
  expect(held()).toEqual([])
})

test.each(['tokens', 'plan'] as const)('one for %s depends on the request, so it is not kept', (reason) => {
  const refusals = cacheRefusals()
  refusals.note(of('account'), refusal(reason, 5_000))
  expect(refusals.of(of('account'), NOW)).toBeNull()
})

test('a decision that allows, or another plan, ends it', () => {
  const refusals = cacheRefusals()
  refusals.note(of('account'), refusal('requests', 5_000))
  expect(refusals.of(of('account'), { ...NOW, plan: 'pro' })).toBeNull()
  refusals.note(of('account'), { kind: 'allow', quotaStatus: refusal('requests', 0).quotaStatus, isTight: false })
  expect(refusals.of(of('account'), NOW)).toBeNull()
})

const anyRequest = fc.record({
  account: fc.constantFrom('one', 'two'),
  keyHash: fc.constantFrom('a', 'b'),
  model: fc.constantFrom('small', 'large'),
  policyHint: fc.constant('1.1'),
})
const anyReason = fc.constantFrom('requests', 'tokens', 'day', 'allowance', 'pending', 'plan')
const anyStep = fc.tuple(
  anyRequest,
  fc.oneof(fc.constant(null), fc.record({ reason: anyReason, scope: fc.constantFrom('account', 'key', 'model') })),
)

test('a refusal holds for the requests that share its limit, and for no others', () => {
  const shares: Record<LimitScope, (one: Request, other: Request) => boolean> = {
    account: (one, other) => one.account === other.account,
    key: (one, other) => one.keyHash === other.keyHash,
    model: (one, other) => one.account === other.account && one.model === other.model,
  }
  type Request = typeof anyRequest extends fc.Arbitrary<infer Value> ? Value : never
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 8 }), anyRequest, (steps, next) => {
      const refusals = cacheRefusals(() => 0)
      for (const [request, refused] of steps) {
        refusals.note(
          request,
          refused === null
            ? { kind: 'allow', quotaStatus: refusal('requests', 0).quotaStatus, isTight: false }
            : { ...refusal(refused.reason, 9_000), scope: refused.scope },
        )
      }
      const held = refusals.of(next, NOW)
      // A model: the refusals that still hold, found without names.
      const holding = steps.filter(
        ([request, refused], at) =>
          refused !== null &&
          refused.reason !== 'tokens' &&
          refused.reason !== 'plan' &&
          (refused.scope === 'account' ||
            (refused.reason !== 'allowance' &&
              refused.reason !== 'pending' &&
              (refused.scope === 'model' || refused.reason === 'requests'))) &&
          shares[refused.scope](request, next) &&
          !steps.slice(at + 1).some(([later, verdict]) => verdict === null && shares[refused.scope](later, request)),
      )
      expect(held === null).toBe(holding.length === 0)
      if (held) expect(holding.map(([, refused]) => refused!.scope)).toContain(held.scope)
    }),
    { numRuns: 2_000 },
  )
})
