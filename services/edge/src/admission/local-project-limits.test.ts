/** The limits of projects, keys and models at an edge that has lost the admission store. */

import { beforeEach, expect, test } from 'vitest'
import { limitsWith } from '@gateway/admission/limits-for-tests'
import {
  AdmissionUnavailableError,
  type AdmitDecision,
  type AdmitRequest,
  type EdgeAdmission,
} from '@gateway/admission/port'
import type { LookUpReply } from '@gateway/contracts/keys-api'
import type { QuotaRequest } from '@gateway/contracts/metering-api'
import { createLogger } from '@gateway/telemetry/logger'
import { TOTAL_MAX_AGE_MS } from './ledger-totals.ts'
import { LocalAdmissionFallback } from './local-admission-fallback.ts'
import type { KeysClient, MeteringClient } from '../rpc/service-clients.ts'

const account = 'Tag12345'
const window = new Date().toISOString().slice(0, 7)
const EDGES = 2

type Key = Extract<LookUpReply, { kind: 'active' }>
const NO_RATES = { requestsPerMinute: null, tokensPerMinute: null }
const keyOf = (keyId: string, limits: Partial<Key['limits']> = {}, project: Partial<Key['project']> = {}): Key => ({
  kind: 'active',
  plan: 'free',
  overage: false,
  extra: 0,
  project: { hardLimit: null, modelLimits: [], policy: '{"models":null}', policyVersion: 1, ...project },
  limits: { keyId, expiresAtMs: null, monthly: null, ...NO_RATES, policy: '{"models":null}', ...limits },
})

let keys: Map<string, Key>
let ledger: { used: number; ofKeys: Record<string, number> | null }
let admission: EdgeAdmission
let quotaKeys: (string[] | undefined)[]

beforeEach(() => {
  keys = new Map([['a', keyOf('key0000a')]])
  ledger = { used: 0, ofKeys: {} }
  quotaKeys = []
  const away = () => Promise.reject(new AdmissionUnavailableError('away'))
  admission = new LocalAdmissionFallback({
    store: { partOf: () => '', admit: away, finish: away, renew: away, authenticate: away },
    keys: {
      lookUp: async ({ keyHash }: { keyHash: string }) => keys.get(keyHash) ?? { kind: 'dead' },
    } as unknown as KeysClient,
    metering: {
      async quota({ keyIds }: QuotaRequest) {
        quotaKeys.push(keyIds)
        const { used, ofKeys } = ledger
        const totals = ofKeys && keyIds?.map((keyId) => ({ keyId, settled: ofKeys[keyId] ?? 0 }))
        return { used, window, resetAtMs: 0, ...(totals && { keys: totals }) }
      },
    } as unknown as MeteringClient,
    unitOf: () => 'tokens',
    running: () => [],
    edgesMax: EDGES,
    logger: createLogger({ service: 'test', level: 'silent' }),
    onAdmitHere: () => {},
    onEnd: () => {},
  })
})

const hints = new Map<string, string>()
const requestOf = (requestId: string, keyHash: string, fields: Partial<AdmitRequest>): AdmitRequest => ({
  requestId,
  account,
  keyHash,
  planHint: 'free',
  policyHint: hints.get(keyHash),
  model: 'small',
  planIncludesModel: true,
  limits: limitsWith({ requestsPerMinute: 1_000, tokensPerMinute: 1_000_000, allowance: 1_000 }),
  usualTokens: 1,
  worstCharge: 10,
  leaseMs: 30_000,
  ...fields,
})

/** As an edge does: it decides again by the policies of the reply. */
async function decide(requestId: string, keyHash = 'a', fields: Partial<AdmitRequest> = {}): Promise<AdmitDecision> {
  const first = await admission.admit(requestOf(requestId, keyHash, fields))
  if (first.kind !== 'plan') return first
  hints.set(keyHash, first.policy!.hint)
  return admission.admit(requestOf(requestId, keyHash, fields))
}
async function outcome(...args: Parameters<typeof decide>): Promise<string> {
  const decision = await decide(...args)
  if (decision.kind !== 'deny') return decision.kind
  return decision.reason === 'key' ? 'key' : `${decision.reason} of ${decision.scope ?? 'account'}`
}

test('each edge admits its share of the rates of a key and of a model', async () => {
  const perModel = { model: 'small', ...NO_RATES, requestsPerMinute: 3 * EDGES, requestsPerDay: null }
  keys.set('a', keyOf('key0000a', { requestsPerMinute: 2 * EDGES }, { modelLimits: [perModel] }))
  keys.set('b', keyOf('key0000b', {}, { modelLimits: [perModel] }))
  expect([await outcome('1'), await outcome('2'), await outcome('3')]).toEqual(['allow', 'allow', 'requests of key'])
  // Requests with all keys of the project count for the model.
  expect([await outcome('4', 'b'), await outcome('5', 'b')]).toEqual(['allow', 'requests of model'])
  expect(await outcome('6', 'b', { model: 'large' })).toBe('allow')
})

test("a key's month counts the ledger's total of the key, and this edge's requests once for each possible edge", async () => {
  keys.set('a', keyOf('key0000a', { monthly: 100 }))
  ledger = { used: 500, ofKeys: { key0000a: 100 - 10 * EDGES } }
  expect([await outcome('1'), await outcome('2')]).toEqual(['allow', 'pending of key'])
  await admission.finish({ account, requestId: '1', charge: 10, tokens: 1 })
  expect(await outcome('3')).toBe('allow')
  // Another key of the project has a month of its own.
  keys.set('b', keyOf('key0000b', { monthly: 100 }))
  expect(await outcome('4', 'b')).toBe('allow')
})

test('totals of all keys in use are read with that of their account, together and only when they are old', async () => {
  keys.set('a', keyOf('key0000a', { monthly: 100 }))
  keys.set('b', keyOf('key0000b', { monthly: 100 }))
  keys.set('c', keyOf('key0000c'))
  for (const id of ['1', '2']) await Promise.all(['a', 'b', 'c'].map((key) => outcome(`${key}${id}`, key)))
  expect(quotaKeys.at(-1)).toEqual(['key0000a', 'key0000b'])
  expect(quotaKeys.length).toBeLessThanOrEqual(3)
  expect(TOTAL_MAX_AGE_MS).toBeGreaterThan(1_000)
})

test('a used-up key is a refusal of its own, and so is a hard limit of the project, with overage, too', async () => {
  keys.set('a', keyOf('key0000a', { monthly: 100 }))
  ledger = { used: 500, ofKeys: { key0000a: 100 } }
  expect(await outcome('1')).toBe('allowance of key')
  keys.set('b', { ...keyOf('key0000b', {}, { hardLimit: 400 }), overage: true })
  expect(await outcome('2', 'b')).toBe('allowance of account')
})

test('nothing is admitted without its limits: a ledger of the last release does not state totals of keys', async () => {
  ledger.ofKeys = null
  expect(await outcome('1')).toBe('allow')
  keys.set('a', keyOf('key0000a', { monthly: 100 }))
  await expect(outcome('2')).rejects.toThrow(/use of this key is not known/)
})

test('a changed list comes with the next request, and a dead key is refused', async () => {
  expect(await outcome('1')).toBe('allow')
  keys.set('a', keyOf('key0000a', { policy: '{"models":["large"]}' }))
  expect(await admission.admit(requestOf('2', 'a', {}))).toMatchObject({
    kind: 'plan',
    policy: { key: '{"models":["large"]}' },
  })
  expect(await admission.authenticate({ account, keyHash: 'a' })).toMatchObject({
    kind: 'active',
    project: { hardLimit: null, policy: { key: '{"models":["large"]}' } },
  })
  keys.delete('a')
  expect(await outcome('3')).toBe('key')
})
