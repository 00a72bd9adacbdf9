/**
 * A count of its own holds a project's limits of requests and of the month to account, both ways, in memory and in Redis.
 */

import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { startRedis, type Server } from '@gateway/servers/start'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openMemoryAdmission } from '../memory.ts'
import type { Admission } from '../port.ts'
import { openRedisAdmission } from '../redis.ts'
import { limitsWith } from './limits.ts'
import { MINUTE_MS } from './stage.ts'

let server: Server
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server[Symbol.asyncDispose]())

const KEY_IDS = ['key00001', 'key00002']
const MODELS = ['one', 'two', 'three']

/** One of several keys sends a request to a model after a pause, or the oldest running one ends. */
const act = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      key: fc.integer({ min: 0, max: 1 }),
      model: fc.constantFrom(...MODELS),
      afterMs: fc.oneof(fc.integer({ min: 0, max: 4_000 }), fc.constantFrom(0, 59_999, 60_000)),
      worst: fc.integer({ min: 1, max: 90 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ part: fc.double({ min: 0, max: 1, noNaN: true }), isSettled: fc.boolean() }) },
)

test('a request is admitted exactly where it fits every limit of account, key and model', async () => {
  let nowMs = Date.UTC(2027, 11, 5, 12)
  await using redis = await openRedisAdmission({ url: server.url, timeoutMs: 5_000, now: () => nowMs })
  const cap = fc.option(fc.integer({ min: 1, max: 4 }))
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        keys: fc.array(fc.record({ rpm: cap, monthly: fc.option(fc.integer({ min: 0, max: 300 })) }), {
          minLength: 2,
          maxLength: 2,
        }),
        models: fc.array(fc.record({ rpm: cap, perDay: fc.option(fc.integer({ min: 0, max: 9 })) }), {
          minLength: 2,
          maxLength: 2,
        }),
        hardLimit: fc.option(fc.integer({ min: 0, max: 500 })),
        acts: fc.array(act, { minLength: 5, maxLength: 40, size: 'max' }),
      }),
      async ({ keys, models, hardLimit, acts }) => {
        nowMs = Date.UTC(2027, 11, 5, 12)
        await using memory = openMemoryAdmission({ now: () => nowMs })
        for (const store of [memory, redis]) {
          nowMs = Date.UTC(2027, 11, 5, 12)
          await countAlong(store, { keys, models, hardLimit, acts }, (byMs) => (nowMs += byMs))
        }
      },
    ),
    { numRuns: 150 },
  )
})

test('requests of a key and a model stay exact, however long their logs become', async () => {
  let nowMs = 0
  await using redis = await openRedisAdmission({ url: server.url, timeoutMs: 5_000, now: () => nowMs })
  const rpm = fc.integer({ min: 5, max: 40 })
  await fc.assert(
    fc.asyncProperty(
      rpm,
      rpm,
      fc.array(fc.integer({ min: 0, max: 2_600 }), { minLength: 1_200, maxLength: 1_200 }),
      async (ofKey, ofModel, pauses) => {
        nowMs = Date.UTC(2027, 11, 5, 12)
        const acts = pauses.flatMap((afterMs) => [
          { key: 0, model: MODELS[0]!, afterMs, worst: 1 },
          { part: 0, isSettled: false },
        ])
        const keys = [
          { rpm: ofKey, monthly: null },
          { rpm: null, monthly: null },
        ]
        const models = [{ rpm: ofModel, perDay: null }]
        await countAlong(redis, { keys, models, hardLimit: null, acts }, (byMs) => (nowMs += byMs))
      },
    ),
    { numRuns: 4 },
  )
})

interface Along {
  keys: { rpm: number | null; monthly: number | null }[]
  models: { rpm: number | null; perDay: number | null }[]
  hardLimit: number | null
  acts: ({ key: number; model: string; afterMs: number; worst: number } | { part: number; isSettled: boolean })[]
}

async function countAlong(store: Admission, { keys, models, hardLimit, acts }: Along, pass: (ms: number) => number) {
  const account = randomUUID()
  const facts = keys.map(({ rpm, monthly }, index) => ({
    ...{ keyHash: `hash-${index}`, version: 1, active: true },
    limits: {
      ...{ keyId: KEY_IDS[index]!, expiresAtMs: null, monthly, requestsPerMinute: rpm, tokensPerMinute: null },
      policy: '',
    },
  }))
  const modelLimitsOf = models.map(({ rpm, perDay }, index) => {
    return { model: MODELS[index]!, requestsPerMinute: rpm, tokensPerMinute: null, requestsPerDay: perDay }
  })
  const project = { hardLimit, modelLimits: modelLimitsOf, policy: '', policyVersion: 1 }
  await store.fill({ account, version: 1, plan: 'free', overage: false, extra: 0, project, keys: facts })
  const total = { account, window: '2027-12', settled: 0, version: 1 }
  await store.warm({ ...total, keys: KEY_IDS.map((keyId) => ({ keyId, settled: 0 })) })

  const taken: { id: string; key: number; model: string; atMs: number; worst: number; cost: number | null }[] = []
  let version = 1
  for (const [index, next] of acts.entries()) {
    if ('part' in next) {
      const running = taken.find(({ cost }) => cost === null)
      if (!running) continue
      running.cost = Math.floor(running.worst * next.part)
      await store.finish({ account, requestId: running.id, charge: running.cost, tokens: 1 })
      if (!next.isSettled) continue
      const ended = taken.filter(({ cost }) => cost !== null)
      const sum = (of: typeof ended) => of.reduce((charges, { cost }) => charges + cost!, 0)
      await store.applyTotal({
        ...{ account, window: '2027-12', settled: sum(ended), version: ++version },
        included: ended.map(({ id }) => ({ requestId: id })),
        keys: KEY_IDS.map((keyId, key) => ({ keyId, settled: sum(ended.filter((one) => one.key === key)) })),
      })
      continue
    }
    const nowMs = pass(next.afterMs)
    const id = `request-${index}`
    const decision = await store.admit({
      ...{ requestId: id, account, keyHash: `hash-${next.key}`, model: next.model, planHint: 'free' },
      ...{ policyHint: `1.1.${KEY_IDS[next.key]}`, planIncludesModel: true, limits: limitsWith({ allowance: 400 }) },
      ...{ usualTokens: 1, worstCharge: next.worst, leaseMs: 100 * MINUTE_MS },
    })
    const held = (of: typeof taken) => of.reduce((charges, { worst, cost }) => charges + (cost ?? worst), 0)
    const ofKey = taken.filter(({ key }) => key === next.key)
    const ofModel = taken.filter(({ model }) => model === next.model)
    const inMinute = (of: typeof taken) => of.filter(({ atMs }) => atMs > nowMs - MINUTE_MS).length
    const model = models[MODELS.indexOf(next.model)]
    const key = keys[next.key]!
    const fits =
      held(taken) < Math.min(400, hardLimit ?? Infinity) &&
      held(ofKey) < (key.monthly ?? Infinity) &&
      inMinute(ofKey) < (key.rpm ?? Infinity) &&
      inMinute(ofModel) < (model?.rpm ?? Infinity) &&
      ofModel.length < (model?.perDay ?? Infinity)
    expect(decision).toMatchObject({ kind: fits ? 'allow' : 'deny' })
    if (fits) taken.push({ id, key: next.key, model: next.model, atMs: nowMs, worst: next.worst, cost: null })
  }
}
