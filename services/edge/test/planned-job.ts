/**
 * A request as it is dispatched, and responses of routers, for tests.
 */

import type { ResponseHead, JobHeader, PlannedJob } from '@gateway/contracts/job'
import type { TokenUsage } from '@gateway/contracts/usage'
import { bill, type UsageEvent } from '@gateway/contracts/usage-event'
import { v7 as uuidv7 } from 'uuid'

export const HEAD: ResponseHead = {
  contentType: 'application/json',
  upstream: 'spark',
  backend: 'a',
  backendModel: 'model-a',
}

export const USAGE: TokenUsage = {
  promptTokens: 9,
  completionTokens: 3,
  cachedTokens: 0,
  reasoningTokens: 0,
  estimated: false,
}

export function plannedJob(fields: Partial<JobHeader> = {}): PlannedJob {
  return {
    requestId: uuidv7(),
    kind: 'chat',
    configRevision: 'r1',
    pool: 'spark',
    needs: ['chat'],
    stream: false,
    includeUsage: false,
    promptTokensEstimate: 11,
    account: 'acc',
    keyId: 'key00001',
    plan: 'free',
    unit: 'tokens',
    window: '2026-11',
    modelAsked: 'svc-instant',
    lane: 'svc-instant',
    price: { kind: 'multiplier', milliTokensPerToken: 1_000 },
    startedAtMs: Date.now(),
    ...fields,
  }
}

export function usageEvent(fields: Partial<UsageEvent> = {}): UsageEvent {
  const billed = bill.parse(plannedJob())
  return {
    ...billed,
    reporter: 'edge',
    backend: HEAD.backend,
    backendModel: HEAD.backendModel,
    usage: USAGE,
    outcome: 'completed',
    delivered: true,
    streamed: false,
    attempts: [],
    endedAtMs: billed.startedAtMs + 10,
    ...fields,
  }
}

export const encode = (message: object): Uint8Array => Buffer.from(JSON.stringify(message))
