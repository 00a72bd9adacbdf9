/**
 * Memory and Redis get the same random requests and must return the same decisions, with every figure.
 */

import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { startRedis, type Server } from '@gateway/servers/start'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openMemoryAdmission } from '../memory.ts'
import type { Admission } from '../port.ts'
import { openRedisAdmission } from '../redis.ts'

let server: Server
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server[Symbol.asyncDispose]())

/** Twenty minutes before a month ends. */
const START_MS = Date.UTC(2027, 11, 31, 23, 40)
const WINDOWS = ['2027-12', '2028-01']

/** One call to an adapter about this account. */
type StoreCall = (admission: Admission, account: string) => Promise<unknown>
type Step = { say: string; call: StoreCall } | { say: string; advanceMs: number }

const requestId = fc.integer({ min: 0, max: 11 }).map((n) => `request-${n}`)
/** The first is used most, the second revoked most. */
const keyHash = fc.constantFrom('key-a', 'key-a', 'key-a', 'key-b')
const revokedKeyHash = fc.integer({ min: 0, max: 199 }).map((n) => (n === 199 ? 'key-a' : 'key-b'))
const version = fc.integer({ min: 0, max: 4 })
const window = fc.constantFrom(...WINDOWS)
const charge = fc.integer({ min: 0, max: 60 })
const tokens = fc.integer({ min: 0, max: 1500 })

function step<Args extends unknown[]>(
  name: string,
  args: fc.Arbitrary<Args>,
  call: (...args: Args) => StoreCall,
): fc.Arbitrary<Step> {
  return args.map((values) => ({ say: `${name} ${JSON.stringify(values)}`, call: call(...values) }))
}

const limits = fc.record({
  requestsPerMinute: fc.integer({ min: 1, max: 4 }),
  tokensPerMinute: fc.integer({ min: 1, max: 1000 }),
  requestsPerDay: fc.option(fc.integer({ min: 1, max: 6 })),
  allowance: fc.integer({ min: 0, max: 200 }),
})

/** Most admissions bring none. */
const ends = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.array(fc.record({ requestId, charge, tokens }), { minLength: 1, maxLength: 4 }) },
)
const admit = step(
  'admit',
  fc.tuple(
    fc.record({
      requestId,
      ends,
      keyHash,
      planHint: fc.integer({ min: 0, max: 29 }).map((n) => (n < 28 ? 'free' : n === 28 ? 'pro' : null)),
      planIncludesModel: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
      limits,
      usualTokens: tokens,
      worstCharge: fc.integer({ min: 0, max: 100 }),
      leaseMs: fc.constantFrom(1, 5_000, 30_000, 3_600_000),
      takes: fc.constantFrom(undefined, undefined, undefined, 'nothing' as const, 'request' as const),
    }),
  ),
  (request) => (admission, account) => admission.admit({ ...request, account }),
)
const finish = step(
  'finish',
  fc.tuple(requestId, charge, tokens),
  (id, cost, used) => (admission, account) => admission.finish({ account, requestId: id, charge: cost, tokens: used }),
)
const renew = step(
  'renew',
  fc.tuple(
    fc.uniqueArray(requestId, { minLength: 1, maxLength: 4 }),
    fc.option(charge, { nil: undefined }),
    fc.option(window, { nil: undefined }),
  ),
  (ids, worstCharge, of) => (admission, account) =>
    admission.renew(
      ids.map((id) => ({ account, requestId: id, worstCharge, window: of })),
      20_000,
    ),
)
const authenticate = step(
  'authenticate',
  fc.tuple(keyHash),
  (hash) => (admission, account) => admission.authenticate({ account, keyHash: hash }),
)
const fill = step(
  'fill',
  fc.tuple(
    fc.record({
      version,
      plan: fc.integer({ min: 0, max: 19 }).map((n) => (n === 19 ? 'pro' : 'free')),
      overage: fc.integer({ min: 0, max: 9 }).map((n) => n === 9),
      extra: fc.constantFrom(0, 50),
      window: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: window }),
      moreLater: fc.integer({ min: 0, max: 9 }).map((n) => n === 9),
      keys: fc.uniqueArray(fc.record({ keyHash: revokedKeyHash, version, active: fc.boolean() }), {
        selector: (key) => key.keyHash,
      }),
    }),
  ),
  (facts) => (admission, account) => admission.fill({ ...facts, account }),
)
const deactivate = step(
  'deactivate',
  fc.tuple(revokedKeyHash, version),
  (hash, at) => (admission, account) => admission.deactivate({ account, keyHash: hash, version: at }),
)
const total = fc.record({ window, settled: fc.integer({ min: 0, max: 150 }), version })
const applyTotal = step(
  'applyTotal',
  fc.tuple(
    total,
    fc.uniqueArray(fc.record({ requestId, tokens: fc.option(tokens, { nil: undefined }), mayChange: fc.boolean() }), {
      selector: (request) => request.requestId,
      maxLength: 3,
    }),
  ),
  (reported, included) => (admission, account) => admission.applyTotal({ ...reported, account, included }),
)
const warm = step(
  'warm',
  fc.tuple(total),
  (reported) => (admission, account) => admission.warm({ ...reported, account }),
)
/** After a recount both have released lapsed requests; before, each does so at its next call. */
const inspect = step('inspect', fc.tuple(), () => async (admission, account) => {
  await admission.recount(account)
  const { keys, requests, ...held } = await admission.inspect(account)
  const inOrder = <Item>(items: Item[], name: (item: Item) => string) =>
    items.toSorted((a, b) => (name(a) < name(b) ? -1 : 1))
  return {
    ...held,
    keys: inOrder(keys, (key) => key.keyHash),
    requests: inOrder(requests, (request) => request.requestId),
  }
})
const advance = fc
  .oneof(
    fc.constantFrom(1, 999, 5_000, 30_000, 59_999, 60_000, 5 * 60_000, 10 * 60_000, 60 * 60_000),
    fc.integer({ min: 1, max: 90_000 }),
  )
  .map((ms): Step => ({ say: `advance ${ms} ms`, advanceMs: ms }))

const steps = fc.array(
  fc.oneof(
    { weight: 14, arbitrary: admit },
    { weight: 4, arbitrary: finish },
    { weight: 2, arbitrary: renew },
    { weight: 1, arbitrary: authenticate },
    { weight: 2, arbitrary: fill },
    { weight: 1, arbitrary: deactivate },
    { weight: 2, arbitrary: applyTotal },
    { weight: 2, arbitrary: warm },
    { weight: 2, arbitrary: inspect },
    { weight: 5, arbitrary: advance },
  ),
  { minLength: 1, maxLength: 120, size: 'max' },
)

/** Most sequences begin with an account that is known, so that they reach the limits. */
const known: StoreCall = async (admission, account) => {
  const keys = ['key-a', 'key-b'].map((hash) => ({ keyHash: hash, version: 0, active: true }))
  await admission.fill({ account, version: 0, plan: 'free', overage: false, extra: 0, keys })
  await admission.warm({ account, window: WINDOWS[0]!, settled: 0, version: 0 })
}

test('memory and Redis return the same decisions for any requests', async () => {
  let nowMs = START_MS
  const now = () => nowMs
  let lapsed = 0
  await using redis = await openRedisAdmission({
    url: server.url,
    timeoutMs: 5_000,
    now,
    onLapsed: (count) => (lapsed += count),
  })
  const seen = new Map<string, number>()

  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
      steps,
      async (startsKnown, sequence) => {
        nowMs = START_MS
        await using memory = openMemoryAdmission({ now })
        const account = randomUUID()
        const first: Step = { say: 'known', call: known }
        for (const [index, next] of (startsKnown ? [first, ...sequence] : sequence).entries()) {
          if ('advanceMs' in next) {
            nowMs += next.advanceMs
            continue
          }
          const [ours, theirs] = await Promise.all([next.call(memory, account), next.call(redis, account)])
          expect(theirs, `step ${index}: ${next.say}`).toEqual(ours)
          count(seen, ours)
        }
      },
    ),
    { numRuns: 500 },
  )

  // The sequences reach every kind of decision: without this, agreement would prove little.
  const kinds = ['allow', 'plan', 'miss', 'cold', 'key', 'requests', 'tokens', 'day', 'allowance', 'pending']
  expect([...seen.keys()]).toEqual(expect.arrayContaining(kinds))
  expect(lapsed).toBeGreaterThan(0)
})

function count(seen: Map<string, number>, decision: unknown): void {
  if (typeof decision !== 'object' || decision === null || !('kind' in decision)) return
  const kind = String('reason' in decision ? decision.reason : decision.kind)
  seen.set(kind, (seen.get(kind) ?? 0) + 1)
}
