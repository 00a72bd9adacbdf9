/**
 * A project's keys have limits of their own, and so have its models, for all keys together. Each limit holds both ways.
 */

import { expect, test } from 'vitest'
import { onEachAdapter } from './adapters.ts'
import { KEY_ID, keyLimitsOf, knownProject, MODEL, newProject, projectOf } from './project-stage.ts'
import { countAllowed, HOUR_MS, KEY, MINUTE_MS, quotaStatusOf, SECOND_MS, verdict, waitOf } from './stage.ts'
import type { AdmitDecision } from '../port.ts'

const scopeOf = (decision: AdmitDecision) => ('scope' in decision ? decision.scope : undefined)
const refusal = (decision: AdmitDecision) => [scopeOf(decision), verdict(decision)]

onEachAdapter((open) => {
  test('an edge without the hint receives the policies, and with it the request is admitted', async () => {
    await using stage = await newProject(open)
    await stage.fillProject()
    await stage.warm()
    const reply = await stage.admit({ policyHint: undefined })
    const policy = { hint: expect.any(String) as string, project: 'of the project', key: 'of the key' }
    expect(reply).toEqual({ kind: 'plan', plan: 'free', policy })
    expect(verdict(await stage.admit())).toBe('allow')
    await stage.fillProject({ version: 2 })
    const hint = reply.kind === 'plan' ? reply.policy?.hint : undefined
    expect(await stage.admit({ policyHint: hint })).toMatchObject({ kind: 'plan' })
    expect(verdict(await stage.admit({ planHint: 'pro' }))).toBe('plan')
  })

  test("a project's key that is proven comes with the hard limit and the policies", async () => {
    await using stage = await newProject(open)
    const proven = () => stage.admission.authenticate({ account: stage.account, keyHash: KEY })
    await stage.fillProject()
    await stage.warm()
    const plan = await stage.admit({ policyHint: undefined })
    expect(await proven()).toMatchObject({ kind: 'active', project: { hardLimit: null } })
    await stage.fillProject({ hardLimit: 400 })
    const policy = plan.kind === 'plan' && plan.policy
    expect(await proven()).toMatchObject({ kind: 'active', project: { hardLimit: 400, policy } })
  })

  test('a key is refused from its expiry on, by the clock of the store', async () => {
    await using stage = await newProject(open)
    await stage.fillProject({ key: { expiresAtMs: stage.clock.nowMs + MINUTE_MS } })
    await stage.warm()
    stage.clock.advance(MINUTE_MS - 1)
    expect(verdict(await stage.admit())).toBe('allow')
    stage.clock.advance(1)
    expect(await stage.admit()).toEqual({ kind: 'deny', reason: 'key' })
    expect(await stage.admission.authenticate({ account: stage.account, keyHash: KEY })).toEqual({ kind: 'deny' })
  })

  test("a key's requests per minute are exact, and the refusal names the key", async () => {
    await using stage = await knownProject(open, { key: { requestsPerMinute: 3 } })
    expect(countAllowed(await stage.admitAtOnce(50))).toBe(3)
    stage.clock.advance(20 * SECOND_MS)
    const refused = await stage.admit()
    expect(refusal(refused)).toEqual(['key', 'requests'])
    expect(waitOf(refused)).toBe(40 * SECOND_MS)
    stage.clock.advance(40 * SECOND_MS)
    expect(countAllowed(await stage.admitAtOnce(50))).toBe(3)
  })

  test('a lowered and raised limit of requests counts all of the last minute', async () => {
    await using stage = await knownProject(open, { key: { requestsPerMinute: 100 } })
    for (let sent = 0; sent < 30; sent++) {
      stage.clock.advance(SECOND_MS)
      await stage.admit()
    }
    await stage.fillProject({ version: 2, key: { requestsPerMinute: 5 } })
    const refused = await stage.admit()
    // The fifth of the newest leaves last.
    expect(waitOf(refused)).toBe(56 * SECOND_MS)
    await stage.fillProject({ version: 3, key: { requestsPerMinute: 40 } })
    expect(countAllowed(await stage.admitAtOnce(50))).toBe(10)
  })

  test('the log of a busy key stays exact over many minutes', async () => {
    await using stage = await knownProject(open, { key: { requestsPerMinute: 600 } })
    const admittedAtMs: number[] = []
    for (let second = 0; second < 150; second++) {
      stage.clock.advance(SECOND_MS)
      const allowed = countAllowed(await stage.admitAtOnce(15))
      const { nowMs } = stage.clock
      const before = admittedAtMs.filter((atMs) => atMs > nowMs - MINUTE_MS).length
      expect(allowed).toBe(Math.min(15, 600 - before))
      for (let one = 0; one < allowed; one++) admittedAtMs.push(nowMs)
    }
  })

  test("a key's tokens per minute are a bucket that its requests' ends correct, also into debt", async () => {
    await using stage = await knownProject(open, { key: { tokensPerMinute: 600 } })
    await stage.admit({ requestId: 'large', usualTokens: 600 })
    expect(refusal(await stage.admit({ usualTokens: 10 }))).toEqual(['key', 'tokens'])
    await stage.finish('large', 1, 1_200)
    expect(waitOf(await stage.admit({ usualTokens: 10 }))).toBe(61 * SECOND_MS)
    await stage.settle(1, 1, [{ requestId: 'large', tokens: 600 }])
    expect(waitOf(await stage.admit({ usualTokens: 10 }))).toBe(SECOND_MS)
  })

  test("a key's monthly limit counts its total, its ended requests and its running ones", async () => {
    await using stage = await knownProject(open, { key: { monthly: 1_000 } })
    await stage.settleKeys(5_000, 1, [], [{ keyId: KEY_ID, settled: 400 }])
    await stage.admit({ requestId: 'ended', worstCharge: 500 })
    await stage.finish('ended', 300)
    await stage.admit({ requestId: 'runs', worstCharge: 300 })
    expect(refusal(await stage.admit())).toEqual(['key', 'pending'])
    await stage.settleKeys(5_300, 2, ['ended'], [{ keyId: KEY_ID, settled: 700 }])
    expect(await stage.admission.inspect(stage.account)).toMatchObject({
      keyTotals: [{ keyId: KEY_ID, settled: 700, version: 2, running: 300, ended: 0 }],
    })
    await stage.finish('runs', 300)
    const refused = await stage.admit()
    expect(refusal(refused)).toEqual(['key', 'allowance'])
    expect(waitOf(refused)).toBe(12 * HOUR_MS)
    stage.clock.advance(12 * HOUR_MS)
    expect(verdict(await stage.admit())).toBe('allow')
  })

  test('a look at a project says which of its keys each request runs with, limited or not', async () => {
    await using stage = await knownProject(open)
    const limits = keyLimitsOf({ keyId: 'key00002', tokensPerMinute: 600 })
    await stage.fill({ keys: [{ keyHash: 'second', version: 1, active: true, limits }] })
    await stage.admit({ requestId: 'first' })
    await stage.admit({ requestId: 'other', keyHash: 'second' })
    const { requests } = await stage.admission.inspect(stage.account)
    expect(new Map(requests.map(({ requestId, keyId }) => [requestId, keyId]))).toEqual(
      new Map([
        ['first', KEY_ID],
        ['other', 'key00002'],
      ]),
    )
  })

  test('500 requests at once pass a monthly limit of a key by less than one worst case', async () => {
    await using stage = await knownProject(open, { key: { monthly: 1_000 } })
    expect(countAllowed(await stage.admitAtOnce(500, { worstCharge: 130 }))).toBe(8)
  })

  test('a monthly limit that is set while requests run counts them', async () => {
    await using stage = await knownProject(open)
    await stage.admit({ requestId: 'runs', worstCharge: 400 })
    await stage.admit({ requestId: 'ended', worstCharge: 400 })
    await stage.finish('ended', 500)
    await stage.fillProject({ version: 2, key: { monthly: 1_000 } })
    expect(await stage.admit()).toEqual({ kind: 'cold', keyId: KEY_ID })
    await stage.warmKey(100, 1)
    expect(refusal(await stage.admit())).toEqual(['key', 'pending'])
    await stage.finish('runs', 399)
    expect(verdict(await stage.admit({ worstCharge: 1 }))).toBe('allow')
    // Without limits it is not counted, and with one again it counts all.
    await stage.fillProject({ version: 3, key: {} })
    await stage.admit({ requestId: 'later', worstCharge: 50 })
    await stage.fillProject({ version: 4, key: { monthly: 1_000 } })
    expect(await stage.admit()).toEqual({ kind: 'cold', keyId: KEY_ID })
    await stage.warmKey(100, 1)
    expect(refusal(await stage.admit())).toEqual(['key', 'pending'])
  })

  test("a key's total that an older report brings late changes nothing", async () => {
    await using stage = await knownProject(open, { key: { monthly: 1_000 } })
    await stage.settleKeys(800, 5, [], [{ keyId: KEY_ID, settled: 800 }])
    await stage.settleKeys(300, 4, [], [{ keyId: KEY_ID, settled: 300 }])
    await stage.warmKey(100, 3)
    expect((await stage.admission.inspect(stage.account)).keyTotals).toMatchObject([{ settled: 800, version: 5 }])
  })

  test("a model's limits hold for all keys of the project together, and for no other model", async () => {
    await using stage = await knownProject(open, { model: { requestsPerMinute: 3 } })
    const second = { keyHash: 'second', version: 1, active: true, limits: keyLimitsOf({ keyId: 'key00002' }) }
    await stage.fill({ keys: [second] })
    expect(verdict(await stage.admit())).toBe('allow')
    expect(countAllowed(await stage.admitAtOnce(50, { keyHash: 'second' }))).toBe(2)
    expect(refusal(await stage.admit())).toEqual(['model', 'requests'])
    expect(verdict(await stage.admit({ model: 'another' }))).toBe('allow')
    expect(verdict(await stage.admit({ model: undefined }))).toBe('allow')
  })

  test("a model's tokens per minute and requests per day hold", async () => {
    await using stage = await knownProject(open, { model: { tokensPerMinute: 600, requestsPerDay: 2 } })
    await stage.admit({ requestId: 'large', usualTokens: 600 })
    expect(refusal(await stage.admit({ usualTokens: 10 }))).toEqual(['model', 'tokens'])
    await stage.finish('large', 1, 10)
    expect(verdict(await stage.admit({ usualTokens: 10 }))).toBe('allow')
    const refused = await stage.admit({ usualTokens: 10 })
    expect(refusal(refused)).toEqual(['model', 'day'])
    stage.clock.advance(waitOf(refused) - 1)
    expect(refusal(await stage.admit({ usualTokens: 10 }))).toEqual(['model', 'day'])
    stage.clock.advance(1)
    expect(verdict(await stage.admit({ usualTokens: 10 }))).toBe('allow')
  })

  test('the refusal names the limit with the longest wait among account, key and model', async () => {
    await using stage = await knownProject(open, {
      plan: { requestsPerMinute: 1 },
      key: { tokensPerMinute: 60 },
      model: { requestsPerDay: 1 },
    })
    await stage.admit({ requestId: 'large', usualTokens: 60 })
    expect(refusal(await stage.admit())).toEqual(['model', 'day'])
    await stage.fillProject({ version: 2, model: { requestsPerMinute: 9 } })
    stage.clock.advance(SECOND_MS)
    expect(refusal(await stage.admit({ usualTokens: 60 }))).toEqual([undefined, 'requests'])
    await stage.finish('large', 1, 600)
    expect(refusal(await stage.admit({ usualTokens: 60 }))).toEqual(['key', 'tokens'])
  })

  test('a hard limit lowers the allowance, and holds with overage, too', async () => {
    await using stage = await knownProject(open, { plan: { allowance: 1_000 }, hardLimit: 600 })
    expect(quotaStatusOf(await stage.admit()).limit).toBe(600)
    await stage.fillProject({ version: 2, hardLimit: 2_000, extra: 500 })
    expect(quotaStatusOf(await stage.admit()).limit).toBe(1_500)
    await stage.fillProject({ version: 3, hardLimit: 2_000, overage: true })
    await stage.settle(1_999, 1, [])
    const last = await stage.admit({ requestId: 'last' })
    expect(verdict(last)).toBe('pending')
    expect(quotaStatusOf(last)).toMatchObject({ limit: 2_000, overage: true })
    await stage.settle(2_000, 2, [])
    expect(refusal(await stage.admit())).toEqual([undefined, 'allowance'])
    await stage.fill({ version: 4, overage: true, keys: [], project: projectOf({}, 4) })
    expect(verdict(await stage.admit())).toBe('allow')
  })

  test('the same request id takes nothing more from key and model', async () => {
    await using stage = await knownProject(open, {
      key: { requestsPerMinute: 2, tokensPerMinute: 200, monthly: 1_000 },
      model: { requestsPerMinute: 2, tokensPerMinute: 200, requestsPerDay: 2 },
    })
    expect(countAllowed(await stage.admitAtOnce(20, { requestId: 'once', worstCharge: 900 }))).toBe(20)
    expect(verdict(await stage.admit({ worstCharge: 1 }))).toBe('allow')
  })

  test("ends that another key's admission carries correct the meters of their own key and model", async () => {
    await using stage = await knownProject(open, { key: { tokensPerMinute: 600, monthly: 1_000 } })
    const limits = keyLimitsOf({ keyId: 'key00002', tokensPerMinute: 600 })
    await stage.fill({ keys: [{ keyHash: 'second', version: 1, active: true, limits }] })
    await stage.admit({ requestId: 'first', usualTokens: 600, worstCharge: 999 })
    expect(refusal(await stage.admit({ usualTokens: 1 }))).toEqual(['key', 'tokens'])
    const ends = [{ requestId: 'first', charge: 400, tokens: 100 }]
    expect(verdict(await stage.admit({ keyHash: 'second', ends, usualTokens: 600 }))).toBe('allow')
    expect(refusal(await stage.admit({ keyHash: 'second', usualTokens: 1 }))).toEqual(['key', 'tokens'])
    expect(verdict(await stage.admit({ usualTokens: 500, worstCharge: 599 }))).toBe('allow')
    expect((await stage.admission.inspect(stage.account)).keyTotals).toMatchObject([{ running: 599, ended: 400 }])
  })

  test('a lapsed lease frees the key, and its tokens stay in the buckets', async () => {
    await using stage = await knownProject(open, { key: { monthly: 1_000, tokensPerMinute: 600 } })
    await stage.admit({ requestId: 'left', worstCharge: 1_000, usualTokens: 600, leaseMs: SECOND_MS })
    stage.clock.advance(SECOND_MS)
    expect(refusal(await stage.admit({ usualTokens: 600 }))).toEqual(['key', 'tokens'])
    expect(verdict(await stage.admit({ usualTokens: 10, worstCharge: 999 }))).toBe('allow')
    const lease = { account: stage.account, requestId: 'left', worstCharge: 1_000, keyId: KEY_ID }
    expect(await stage.admission.renew([lease], MINUTE_MS)).toEqual([])
    expect(refusal(await stage.admit({ usualTokens: 0 }))).toEqual(['key', 'pending'])
  })

  test('a request that is admitted again for another model holds the bucket of that one', async () => {
    await using stage = await knownProject(open, { model: { tokensPerMinute: 600 } })
    const other = { model: 'other', requestsPerMinute: null, tokensPerMinute: 600, requestsPerDay: null }
    const project = projectOf({ model: { tokensPerMinute: 600 } }, 2)
    await stage.fill({ version: 2, keys: [], project: { ...project, modelLimits: [...project.modelLimits, other] } })
    await stage.admit({ requestId: 'moved', usualTokens: 600, leaseMs: 1 })
    stage.clock.advance(1)
    expect(verdict(await stage.admit({ requestId: 'moved', usualTokens: 100, model: 'other' }))).toBe('allow')
    expect(verdict(await stage.admit({ usualTokens: 600 }))).toBe('allow')
    await stage.finish('moved', 1, 600)
    expect(refusal(await stage.admit({ usualTokens: 1, model: 'other' }))).toEqual(['model', 'tokens'])
  })

  test('an invalid request takes a place of the key, and is refused by that limit alone', async () => {
    await using stage = await knownProject(open, {
      key: { requestsPerMinute: 2, monthly: 0 },
      model: { requestsPerDay: 1 },
    })
    for (let wrong = 0; wrong < 2; wrong++) expect(verdict(await stage.admit({ takes: 'request' }))).toBe('allow')
    expect(refusal(await stage.admit({ takes: 'request' }))).toEqual(['key', 'requests'])
    stage.clock.advance(MINUTE_MS)
    expect(refusal(await stage.admit())).toEqual(['key', 'allowance'])
  })

  test('a closed project refuses all of its keys, and a late fill brings none to life', async () => {
    await using stage = await knownProject(open, { key: { requestsPerMinute: 9 } })
    await stage.admission.closeAccount({ account: stage.account, version: 2 })
    expect(await stage.admit()).toEqual({ kind: 'deny', reason: 'key' })
    await stage.fillProject({ version: 2 })
    expect(await stage.admit()).toEqual({ kind: 'deny', reason: 'key' })
  })

  test('the meter of a key belongs to its id, so a key that replaces it goes on with its counts', async () => {
    await using stage = await knownProject(open, { key: { requestsPerMinute: 2, monthly: 1_000 } })
    await stage.admit({ worstCharge: 999 })
    const limits = keyLimitsOf({ requestsPerMinute: 2, monthly: 1_000 })
    await stage.fill({ version: 2, keys: [{ keyHash: 'rotated', version: 2, active: true, limits }] })
    expect(verdict(await stage.admit({ keyHash: 'rotated', worstCharge: 1 }))).toBe('allow')
    expect(refusal(await stage.admit({ keyHash: 'rotated' }))).toEqual(['key', 'requests'])
  })

  test('the meter of a key that nobody has used for a month goes with the month', async () => {
    await using stage = await knownProject(open, { key: { monthly: 1_000 }, model: { requestsPerDay: 5 } })
    await stage.admit()
    for (let day = 0; day < 33; day++) {
      stage.clock.advance(23 * HOUR_MS)
      await stage.settle(1, 1, [])
    }
    expect(await stage.admit()).toEqual({ kind: 'cold', keyId: KEY_ID })
    await stage.warmKey()
    expect(verdict(await stage.admit({ model: MODEL }))).toBe('allow')
  })
})
