/**
 * Sends requests with a key as an edge does: it fills, warms and chooses again until the admission store decides.
 */

import { randomUUID } from 'node:crypto'
import type { AdmitDecision, AdmitRequest } from '@gateway/admission/port'
import { parseKey } from '@gateway/contracts/api-key'
import { fillTogether } from '../src/handlers/fill.ts'
import { hashOf, type TestKeys } from './keys-service.ts'

const PLAN_LIMITS = { requestsPerMinute: 100, tokensPerMinute: 1e9, requestsPerDay: null, allowance: 1e12 }
const MOST_TURNS = 10

type Decided = Extract<AdmitDecision, { kind: 'allow' | 'deny' }> | { kind: 'unknown' }

/** `charge`: the most that the request can cost, in the smallest unit. */
export async function admitOnce(keys: TestKeys, value: string, charge = 1): Promise<Decided> {
  const account = parseKey(value)!.accountTag
  const keyHash = hashOf(value)
  const request: AdmitRequest = {
    requestId: randomUUID(),
    account,
    keyHash,
    planHint: null,
    planIncludesModel: true,
    limits: PLAN_LIMITS,
    usualTokens: 1,
    worstCharge: charge,
    leaseMs: 60_000,
  }
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const store = keys.admission.store()
    const decision = await store.admit(request)
    if (decision.kind === 'allow' || decision.kind === 'deny') return decision
    if (decision.kind === 'plan') {
      request.planHint = decision.plan
      request.policyHint = decision.policy?.hint
    } else if (decision.kind === 'miss') {
      if ((await fillTogether(keys)({ account, keyHash })).kind === 'unknown') return { kind: 'unknown' }
    } else {
      const { window } = await store.currentWindow(account)
      const ofKey = decision.keyId === undefined ? [] : [{ keyId: decision.keyId, settled: 0 }]
      await store.warm({ account, window, settled: 0, version: 0, keys: ofKey })
    }
  }
  throw new Error('the admission store does not decide')
}

/** The requests that pass in one minute until the first refusal, which comes with them. */
export async function admitUntilRefused(keys: TestKeys, value: string): Promise<{ admitted: number; refusal: string }> {
  for (let admitted = 0; ; admitted++) {
    const decision = await admitOnce(keys, value)
    if (decision.kind === 'unknown') return { admitted, refusal: 'unknown' }
    if (decision.kind === 'allow') continue
    const scope = decision.reason === 'key' ? 'dead' : (decision.scope ?? 'account')
    return { admitted, refusal: `${decision.reason} ${scope}` }
  }
}
