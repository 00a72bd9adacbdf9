/**
 * The job for the routers: an admitted request with its lane, price and bounds.
 */

import type { GatewayConfig, ServedModelConfig } from '@gateway/contracts/config'
import type { PlannedJob } from '@gateway/contracts/job'
import type { Price } from '@gateway/contracts/usage'
import type { CompleteBill } from '@gateway/contracts/usage-event'
import type { Admitted } from '../admission/admit.ts'
import type { Measured } from '../http/take-steps.ts'
import type { Caller } from '../auth/authenticate.ts'
import type { InferenceRequest } from '../requests/inference-kinds.ts'
import { hashEndUser } from '../requests/end-user.ts'
import { affinityKeyOf } from '../requests/session.ts'

export interface JobParts {
  config: GatewayConfig
  caller: Caller
  inference: InferenceRequest
  measured: Measured
  /** The client's own limit, as `performance.now()` counts; Infinity where it states none. */
  headersDueAtMs: number
}

export function planJob(
  { config, caller, inference, measured, headersDueAtMs }: JobParts,
  { plan, policy, lane, price, estimate, hosted, quotaStatus }: Admitted,
  claim: string | undefined,
): PlannedJob & CompleteBill {
  return {
    requestId: measured.requestId,
    kind: inference.kind,
    dialect: inference.dialect,
    compaction: inference.compaction,
    anthropicVersion: inference.anthropicVersion,
    anthropicBeta: inference.anthropicBeta,
    anthropicHeaders: inference.anthropicHeaders,
    headWithinMs: headersDueAtMs === Infinity ? undefined : Math.max(0, Math.floor(headersDueAtMs - performance.now())),
    configRevision: config.revision,
    pool: lane.pool,
    needs: inference.needs,
    stream: inference.stream,
    includeUsage: inference.includeUsage,
    encodingFormat: inference.encodingFormat,
    ...inference.vectorsOf?.(lane),
    defaultMaxTokens: inference.capsOutput ? undefined : lane.maxOutputTokens,
    mostOutputTokens: isCapped(inference, lane) ? estimate.maxOutputTokens : undefined,
    promptTokensEstimate: estimate.usualPromptTokens,
    reservedOutputTokens: inference.kind === 'images' ? estimate.maxOutputTokens : undefined,
    asksHostedTools: hosted !== undefined,
    hostedTools: hosted,
    tokensBesideSound: hasRateOfSound(price) ? estimate.usualTokensBesideSound : undefined,
    affinityKey: hasAffinity(config, lane.pool) ? affinityKey(caller, inference) : undefined,
    account: caller.account,
    keyId: caller.keyId,
    plan: plan.slug,
    unit: plan.unit,
    planVersion: quotaStatus.planVersion,
    window: quotaStatus.window,
    claim,
    sessionId: inference.session?.id,
    agentId: inference.session?.agentId,
    parentAgentId: inference.session?.parentAgentId,
    isProject: policy === null ? undefined : true,
    userId: policy?.userId ?? undefined,
    endUser: inference.endUser === undefined ? undefined : hashEndUser(caller.account, inference.endUser),
    tags: inference.tags,
    modelAsked: inference.model,
    lane: lane.id,
    price,
    startedAtMs: Date.now(),
    traceparent: measured.span.traceparent,
  }
}

function hasRateOfSound(price: Price): boolean {
  return price.kind === 'rates' && price.audioInputNanoUsdPerKiloToken !== undefined
}

function isCapped({ kind, capsOutput, outputCap }: InferenceRequest, { maxOutputTokens }: ServedModelConfig): boolean {
  return kind === 'chat' && (capsOutput ? outputCap : maxOutputTokens) !== undefined
}

function affinityKey({ account }: Caller, { session, conversationKey }: InferenceRequest): string | undefined {
  return session === undefined ? conversationKey?.() : affinityKeyOf(account, session)
}

function hasAffinity(config: GatewayConfig, poolId: string): boolean {
  return config.pools.find(({ id }) => id === poolId)?.affinity === 'conversation'
}
