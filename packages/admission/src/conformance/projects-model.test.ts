/**
 * A project in memory and in Redis gets the same random requests and must return the same decisions, with every figure.
 */

import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { startRedis, type Server } from '@gateway/servers/start'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openMemoryAdmission } from '../memory.ts'
import type { Admission, AdmitDecision, AdmitRequest, KeyLimits, ModelLimits } from '../port.ts'
import { openRedisAdmission } from '../redis.ts'
import { MINUTE_MS } from './stage.ts'

let server: Server
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server[Symbol.asyncDispose]())

/** Twenty minutes before a month ends. */
const START_MS = Date.UTC(2027, 11, 31, 23, 40)
const KEY_IDS = ['key00001', 'key00002']
const MODELS = ['one', 'two', 'three']

const maybe = (most: number, least = 0) => fc.option(fc.integer({ min: least, max: most }))
const requestId = fc.integer({ min: 0, max: 11 }).map((n) => `request-${n}`)
const keyHash = fc.constantFrom('hash-1', 'hash-1', 'hash-2', 'plain')
const tokens = fc.integer({ min: 0, max: 900 })
const charge = fc.integer({ min: 0, max: 60 })
const version = fc.integer({ min: 0, max: 9 })

const keyLimits: fc.Arbitrary<Omit<KeyLimits, 'keyId'>> = fc.record({
  expiresAtMs: fc.option(
    fc.integer({ min: 0, max: 40 }).map((minutes) => START_MS + minutes * MINUTE_MS),
    { freq: 1 },
  ),
  monthly: maybe(150),
  requestsPerMinute: maybe(3, 1),
  tokensPerMinute: maybe(800, 1),
  policy: fc.constantFrom('', '{"models":null}'),
})
const modelLimits: fc.Arbitrary<ModelLimits> = fc.record({
  model: fc.constantFrom(...MODELS),
  requestsPerMinute: maybe(3, 1),
  tokensPerMinute: maybe(800, 1),
  requestsPerDay: maybe(6),
})
const project = fc.record({
  hardLimit: maybe(200),
  modelLimits: fc.uniqueArray(modelLimits, { selector: ({ model }) => model }),
  policy: fc.constantFrom('', 'a policy'),
  policyVersion: fc.integer({ min: 0, max: 2 }),
})

/** `plan` and the hint of a policy come from the store. */
type Request = Omit<AdmitRequest, 'account' | 'planHint' | 'policyHint'>
const request: fc.Arbitrary<Request> = fc.record({
  requestId,
  keyHash,
  model: fc.constantFrom(undefined, ...MODELS),
  planIncludesModel: fc.constantFrom(true, true, true, true, false),
  limits: fc.record({
    requestsPerMinute: fc.integer({ min: 3, max: 9 }),
    tokensPerMinute: fc.integer({ min: 500, max: 3_000 }),
    requestsPerDay: fc.constant(null),
    allowance: fc.integer({ min: 100, max: 400 }),
  }),
  usualTokens: tokens,
  worstCharge: fc.integer({ min: 0, max: 100 }),
  leaseMs: fc.constantFrom(1, 5_000, 30_000, 3_600_000),
  ends: fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.array(fc.record({ requestId, charge, tokens }), { minLength: 1, maxLength: 4 }) },
  ),
  takes: fc.constantFrom(undefined, undefined, undefined, 'nothing' as const, 'request' as const),
})

type StoreCall = (admission: Admission, account: string) => Promise<unknown>
type Step = { say: string } & ({ admit: Request; settled: number } | { call: StoreCall } | { advanceMs: number })

const calls = <Values>(name: string, values: fc.Arbitrary<Values>, call: (values: Values) => StoreCall) =>
  values.map((given): Step => ({ say: `${name} ${JSON.stringify(given)}`, call: call(given) }))

const window = fc.constantFrom('2027-12', '2027-12', '2028-01')
const keyTotals = fc.uniqueArray(
  fc.record({ keyId: fc.constantFrom(...KEY_IDS), settled: fc.integer({ min: 0, max: 100 }) }),
  { selector: ({ keyId }) => keyId },
)
const total = fc.record({
  ...{ window, version, settled: fc.integer({ min: 0, max: 150 }) },
  keys: fc.oneof({ weight: 3, arbitrary: keyTotals }, { weight: 1, arbitrary: fc.constant(undefined) }),
})

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 16,
    arbitrary: fc
      .tuple(request, fc.integer({ min: 0, max: 60 }))
      .map(([admit, settled]) => ({ say: `admit ${JSON.stringify(admit)}`, admit, settled })),
  },
  {
    weight: 4,
    arbitrary: calls('finish', fc.record({ requestId, charge, tokens }), (end) => (store, account) => {
      return store.finish({ ...end, account })
    }),
  },
  {
    weight: 2,
    arbitrary: calls(
      'renew',
      fc.record({
        requestId,
        worstCharge: fc.option(charge, { nil: undefined }),
        window: fc.option(window, { nil: undefined }),
        keyId: fc.constantFrom(undefined, ...KEY_IDS),
      }),
      ({ worstCharge, ...lease }) =>
        (store, account) =>
          store.renew([{ ...lease, account, ...(worstCharge === undefined ? {} : { worstCharge }) }], 20_000),
    ),
  },
  {
    weight: 2,
    arbitrary: calls(
      'fill',
      fc.record({
        version,
        project: fc.option(project, { nil: undefined }),
        overage: fc.constantFrom(false, false, true),
        extra: fc.constantFrom(0, 50),
        limits: fc.array(keyLimits, { minLength: 2, maxLength: 2 }),
      }),
      ({ limits, ...facts }) =>
        (store, account) => {
          const keys = limits.map((one, index) => {
            const own = { ...one, keyId: KEY_IDS[index]! }
            return { keyHash: `hash-${index + 1}`, version: facts.version, active: true, limits: own }
          })
          const plain = { keyHash: 'plain', version: facts.version, active: true }
          return store.fill({ ...facts, account, plan: 'free', keys: [...keys, plain] })
        },
    ),
  },
  {
    weight: 2,
    arbitrary: calls(
      'applyTotal',
      fc.record({
        total,
        included: fc.uniqueArray(
          fc.record({ requestId, tokens: fc.option(tokens, { nil: undefined }), mayChange: fc.boolean() }),
          { selector: (one) => one.requestId, maxLength: 3 },
        ),
      }),
      ({ total: of, included }) =>
        (store, account) =>
          store.applyTotal({
            ...of,
            account,
            included: included.map(({ tokens: used, ...one }) => (used === undefined ? one : { ...one, tokens: used })),
          }),
    ),
  },
  { weight: 1, arbitrary: calls('warm', total, (of) => (store, account) => store.warm({ ...of, account })) },
  {
    weight: 1,
    arbitrary: calls('authenticate', keyHash, (hash) => (store, account) => {
      return store.authenticate({ account, keyHash: hash })
    }),
  },
  {
    weight: 1,
    arbitrary: calls('closeAccount', fc.integer({ min: 0, max: 1 }), (at) => (store, account) => {
      return store.closeAccount({ account, version: at })
    }),
  },
  {
    weight: 2,
    arbitrary: calls('inspect', fc.constant(null), () => async (store, account) => {
      await store.recount(account)
      const { keys, keyTotals: totals, requests, ...held } = await store.inspect(account)
      const inOrder = (items: object[]) => items.map((item) => JSON.stringify(item)).toSorted()
      return { ...held, keys: inOrder(keys), keyTotals: inOrder(totals), requests: inOrder(requests) }
    }),
  },
  {
    weight: 5,
    arbitrary: fc
      .oneof(
        fc.constantFrom(1, 999, 5_000, 30_000, 59_999, 60_000, 5 * 60_000, 60 * 60_000),
        fc.integer({ min: 1, max: 90_000 }),
      )
      .map((advanceMs) => ({ say: `advance ${advanceMs} ms`, advanceMs })),
  },
)

const history = fc.record({
  project,
  limits: fc.array(keyLimits, { minLength: 2, maxLength: 2 }),
  steps: fc.array(step, { minLength: 1, maxLength: 120, size: 'max' }),
})

test('memory and Redis return the same decisions for any requests of a project', async () => {
  let nowMs = START_MS
  const now = () => nowMs
  await using redis = await openRedisAdmission({ url: server.url, timeoutMs: 5_000, now })
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(history, async ({ project: facts, limits, steps }) => {
      nowMs = START_MS
      await using memory = openMemoryAdmission({ now })
      const account = randomUUID()
      const both = async (say: string, call: (store: Admission) => Promise<unknown>): Promise<unknown> => {
        const [ours, theirs] = await Promise.all([call(memory), call(redis)])
        expect(theirs, `at ${say}`).toEqual(ours)
        return ours
      }
      const keys = limits.map((one, index) => {
        return { keyHash: `hash-${index + 1}`, version: 0, active: true, limits: { ...one, keyId: KEY_IDS[index]! } }
      })
      const plain = { keyHash: 'plain', version: 0, active: true }
      const filled = { account, version: 0, plan: 'free', overage: false, extra: 0, project: facts }
      await both('fill', (store) => store.fill({ ...filled, keys: [...keys, plain] }))

      const hints = new Map<string, string>()
      /** As an edge does: with the policies that the store returned, and warm where the store is cold. */
      const admit = async (say: string, sent: Request, settled: number): Promise<void> => {
        for (let round = 0; round < 4; round++) {
          const policyHint = hints.get(sent.keyHash)
          const call = (store: Admission) => store.admit({ ...sent, account, planHint: 'free', policyHint })
          const decision = (await both(say, call)) as AdmitDecision
          seen.add(nameOf(decision))
          if (decision.kind === 'plan' && decision.policy) hints.set(sent.keyHash, decision.policy.hint)
          else if (decision.kind !== 'cold') return
          else {
            const { keyId } = decision
            const { window: present } = await memory.currentWindow()
            const totals = keyId === undefined ? undefined : [{ keyId, settled }]
            await both('warm', (store) => store.warm({ account, window: present, settled, version: 1, keys: totals }))
          }
        }
      }
      for (const [index, next] of steps.entries()) {
        const say = `step ${index}: ${next.say}`
        if ('advanceMs' in next) nowMs += next.advanceMs
        else if ('call' in next) await both(say, (store) => next.call(store, account))
        else await admit(say, next.admit, next.settled)
      }
    }),
    { numRuns: 500 },
  )
  const limits = ['requests', 'tokens', 'allowance', 'pending']
  const kinds = ['allow', 'plan', 'cold', 'cold of a key', 'key']
  const scopes = [...limits, ...limits.map((limit) => `key ${limit}`), 'model requests', 'model tokens', 'model day']
  expect([...seen]).toEqual(expect.arrayContaining([...kinds, ...scopes]))
})

function nameOf(decision: AdmitDecision): string {
  if (decision.kind === 'cold' && decision.keyId !== undefined) return 'cold of a key'
  if (decision.kind !== 'deny') return decision.kind
  return 'scope' in decision && decision.scope ? `${decision.scope} ${decision.reason}` : decision.reason
}
