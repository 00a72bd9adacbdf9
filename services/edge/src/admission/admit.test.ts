import { beforeEach, describe, expect, test } from 'vitest'
import { openMemoryAdmission } from '@gateway/admission/memory'
import {
  denyReasons,
  type AdmitDecision,
  type AdmitRequest,
  type KeyLimits,
  type ProjectFacts,
} from '@gateway/admission/port'
import { backendConfig, modelConfig, planConfig, poolConfig, type GatewayConfig } from '@gateway/contracts/config'
import { GatewayError } from '@gateway/contracts/errors'
import { renderError } from '@gateway/contracts/render-error'
import { clientDialects } from '@gateway/contracts/vendors'
import { openAccountCache } from '../auth/account-cache.ts'
import { proveKey, type Caller } from '../auth/authenticate.ts'
import { effectiveLimit } from '../core/effective-limit.ts'
import { chat } from '../requests/inference-kinds.ts'
import { admit, type AdmitContext } from './admit.ts'
import { openAllowanceLines } from './allowance-lines.ts'
import { denialBy } from './denials.ts'

const account = 'Tag12345'
const caller: Caller = { account, keyId: 'key00001', keyHash: 'hash' }
const config: GatewayConfig = {
  revision: 'r',
  backends: [backendConfig.parse({ id: 'b', url: 'http://127.0.0.1:1', capabilities: ['chat'] })],
  pools: [poolConfig.parse({ id: 'p', targets: [{ backend: 'b', model: 'm' }] })],
  models: ['small', 'large'].map((id) =>
    modelConfig.parse({ id, type: 'chat', pool: 'p', multiplier: 1, maxOutputTokens: 10 }),
  ),
  plans: [planConfig.parse({ slug: 'free', limit: 10_000, rpm: 100, tpm: 100_000 })],
}
const NO_LIMITS: KeyLimits = {
  keyId: caller.keyId,
  expiresAtMs: null,
  monthly: null,
  requestsPerMinute: null,
  tokensPerMinute: null,
  policy: JSON.stringify({ models: null, userId: 'user-1' }),
}
const NO_PROJECT_LIMITS: ProjectFacts = {
  hardLimit: null,
  modelLimits: [],
  policy: JSON.stringify({ models: null, hostedTools: [] }),
  policyVersion: 1,
}

let store: ReturnType<typeof openMemoryAdmission>
let calls: AdmitRequest[]
let warmed: (string | undefined)[]
let counted: AdmitDecision['kind'][]
let edge: AdmitContext
let version: number

beforeEach(() => {
  store = openMemoryAdmission()
  calls = []
  warmed = []
  counted = []
  version = 0
  edge = {
    admission: {
      ...store,
      admit: (request: AdmitRequest) => {
        calls.push(request)
        return store.admit(request)
      },
    },
    plans: openAccountCache(),
    metering: {
      async warm(_account: string, keyId?: string) {
        warmed.push(keyId)
        const { window } = await store.currentWindow()
        const keys = keyId === undefined ? [] : [{ keyId, settled: 0 }]
        await store.warm({ account, window, settled: 0, version: 1, keys })
        return { kind: 'warmed' as const }
      },
    },
    metrics: { admission: ({ kind }: AdmitDecision) => void counted.push(kind), autoChose() {} },
    shedder: { enter() {}, leave() {}, turnedAway() {} },
    allowanceLines: openAllowanceLines(),
    keys: { fill: () => Promise.reject(new Error('the key is there')) },
  } as unknown as AdmitContext
})

const fillPlain = () =>
  store.fill({
    account,
    version: ++version,
    plan: 'free',
    overage: false,
    extra: 0,
    keys: [{ keyHash: 'hash', version, active: true }],
  })
const fillProject = (limits: Partial<KeyLimits> = {}, project: Partial<ProjectFacts> = {}) =>
  store.fill({
    account,
    version: ++version,
    plan: 'free',
    overage: false,
    extra: 0,
    project: { ...NO_PROJECT_LIMITS, policyVersion: version, ...project },
    keys: [{ keyHash: 'hash', version, active: true, limits: { ...NO_LIMITS, ...limits } }],
  })

let requests = 0
const run = (model = 'small') => {
  const inference = chat({ model, messages: [{ role: 'user', content: 'hello' }] }, config.models)
  return admit(
    edge,
    config,
    caller,
    `request-${++requests}`,
    config.models.find(({ id }) => id === model)!,
    inference,
  )
}
const refusal = async (model?: string) => {
  const error: unknown = await run(model).then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof GatewayError)) throw new Error('the request was admitted', { cause: error })
  return error
}

test("a plain key's request is one call, which names neither policies nor a model", async () => {
  await fillPlain()
  await run()
  calls = []
  const { policy } = await run()
  expect(calls).toHaveLength(1)
  expect(calls[0]).toMatchObject({ policyHint: undefined, model: undefined })
  expect(policy).toBeNull()
  expect(warmed).toEqual([undefined])
})

test("a project's key is one call, too, once the edge knows its policies and the store its totals", async () => {
  await fillProject({ monthly: 1_000_000_000 })
  await run()
  expect(warmed).toContain('key00001')
  calls = []
  const { policy } = await run()
  expect(policy).toMatchObject({ userId: 'user-1' })
  expect(calls).toHaveLength(1)
  expect(calls[0]).toMatchObject({ model: 'small' })
})

test('a changed list holds at the next request: the edge chooses again by the policies that the store returns', async () => {
  await fillProject()
  await run()
  await fillProject({ policy: JSON.stringify({ models: ['large'], userId: null }) })
  expect(await refusal('small')).toMatchObject({ details: { type: 'plan_limit', scope: 'key', retryAfterMs: 0 } })
  await run('large')
  await fillProject({}, { policy: JSON.stringify({ models: { mode: 'deny_list', ids: ['large'] }, hostedTools: [] }) })
  expect(await refusal('large')).toMatchObject({ details: { type: 'plan_limit', scope: 'account' } })
  await run('small')
})

describe('a request that fits, while a running one reserves the whole allowance,', () => {
  const RUNNING = 'running'
  beforeEach(async () => {
    await fillPlain()
    await run()
    await store.admit({ ...calls.at(-1)!, requestId: RUNNING, worstCharge: 100_000_000 })
    counted = []
  })

  test('is admitted when that one has ended, and counted once', async () => {
    const waiting = run()
    await expect.poll(() => calls.length).toBeGreaterThan(3)
    await store.finish({ account, requestId: RUNNING, charge: 0, tokens: 0 })
    edge.allowanceLines.ended(account)
    expect(await waiting).toMatchObject({ plan: { slug: 'free' }, quotaStatus: { used: 0 } })
    expect(counted).toEqual(['allow'])
  })

  test('is refused for as long as it has waited, and counted once', async () => {
    expect(await refusal()).toMatchObject({ details: { type: 'pending', retryAfterMs: 1_000 } })
    expect(counted).toEqual(['deny'])
  })
})

test('a key that has expired is INVALID_KEY', async () => {
  await fillProject({ expiresAtMs: 1 })
  expect(await refusal()).toMatchObject({ code: 'INVALID_KEY' })
})

describe('a refusal names its limit', () => {
  test.each([
    ['a key’s requests', { requestsPerMinute: 1 }, {}, 'requests', 'key', /of this key/],
    ['a key’s tokens', { tokensPerMinute: 15 }, {}, 'tokens', 'key', /of this key/],
    ['requests for a model', {}, { requestsPerMinute: 1 }, 'requests', 'model', /of the model small/],
    ['tokens for a model', {}, { tokensPerMinute: 15 }, 'tokens', 'model', /of the model small/],
    ['a day’s requests for a model', {}, { requestsPerDay: 1 }, 'day', 'model', /of the model small/],
  ] as const)('%s', async (_, key, model, type, scope, words) => {
    const none = { requestsPerMinute: null, tokensPerMinute: null, requestsPerDay: null }
    await fillProject(key, { modelLimits: [{ model: 'small', ...none, ...model }] })
    await run()
    const error = await refusal()
    expect(error).toMatchObject({ code: 'rate_limit_exceeded', details: { type, scope } })
    expect(error.message).toMatch(words)
    // The limit is of the key or of this model: another model of the project is served where it is the model's.
    if (scope === 'model') await run('large')
  })

  test("a key's month is a 402 of scope key, and a project's hard limit one of scope account", async () => {
    await fillProject({ monthly: 1 })
    await run()
    const { window } = await store.currentWindow()
    await store.applyTotal({
      account,
      window,
      settled: 9,
      version: 5,
      included: [],
      keys: [{ keyId: 'key00001', settled: 9 }],
    })
    const ofKey = await refusal()
    expect(ofKey).toMatchObject({ code: 'quota_exceeded', details: { scope: 'key' } })
    expect(ofKey.message).toContain('of this key')
    await fillProject({}, { hardLimit: 5 })
    const ofProject = { scope: 'account', project: `proj_${caller.account}` }
    expect(await refusal()).toMatchObject({ code: 'quota_exceeded', details: ofProject })
  })

  const scopes = ['account', 'key', 'model'] as const
  const limits = denyReasons.filter((reason) => reason !== 'key' && reason !== 'plan')
  test.each(limits.flatMap((reason) => scopes.map((scope) => [reason, scope] as const)))(
    'the limit %s of scope %s has its scope in every dialect',
    (reason, scope) => {
      const quotaStatus = { windowResetAtMs: 0, overage: false } as Extract<
        AdmitDecision,
        { kind: 'allow' }
      >['quotaStatus']
      const error = denialBy({ kind: 'deny', reason, scope, retryAfterMs: 5, quotaStatus }, { lane: 'small' })
      if (scope === 'key') expect(error.message).toContain('this key')
      for (const dialect of clientDialects) {
        const { body } = renderError(error, { docsUrl: 'd', topupUrl: 't' }, { dialect })
        expect(JSON.parse(body)).toMatchObject({ error: { scope } })
      }
    },
  )
})

test("a project's key shows the project's hard limit, and plain keys the plan's allowance", async () => {
  const [plan] = config.plans
  const limitNow = async () => effectiveLimit(plan!, await proveKey(edge, caller))
  await fillPlain()
  expect(await limitNow()).toBe(10_000_000)
  await fillProject({}, { hardLimit: 400 })
  expect(await limitNow()).toBe(400)
  await fillProject({}, { hardLimit: 90_000_000 })
  expect(await limitNow()).toBe(10_000_000)
  expect(effectiveLimit(plan!, { extra: 0, overage: true, project: { hardLimit: 90_000_000 } })).toBe(90_000_000)
})
