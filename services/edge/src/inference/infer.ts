/**
 * `POST /v1/chat/completions`, `/v1/embeddings` and `/v1/images/generations`: parse, choose, admit, relay. With an
 * `Idempotency-Key`, only where no other request under that key has run or runs.
 */

import type { GatewayConfig, ServedModelConfig } from '@gateway/contracts/config'
import { GatewayError } from '@gateway/contracts/errors'
import { IDEMPOTENCY_KEY } from '@gateway/contracts/idempotency'
import type { PlannedJob } from '@gateway/contracts/job'
import type { Price } from '@gateway/contracts/usage'
import type { CompleteBill } from '@gateway/contracts/usage-event'
import { partOf, requestAttributes } from '@gateway/telemetry/tracing'
import { failpoint } from '@gateway/service/failpoint'
import { admit, type Admitted } from '../admission/admit.ts'
import { countFault } from '../admission/look-ahead.ts'
import { httpClient, KEEP_ALIVE_AFTER_MS } from './http-client.ts'
import type { Client } from './client-writer.ts'
import type { Caller } from '../auth/authenticate.ts'
import { reservationOf, noteProven, type MemoryReservation } from '../http/memory-budget.ts'
import { adviceHeader, noticeHeaders } from '../core/response-headers.ts'
import type { EdgeContext } from '../edge-context.ts'
import { respondOnce } from '../idempotency/respond-once.ts'
import type { InferenceRequest, InferenceKind } from './requests/inference-kinds.ts'
import { LargeJson } from '../http/parse-json.ts'
import { understand, type Understood } from './requests/understand.ts'
import { retryAfterMs } from '../http/load-shedder.ts'
import { endpointOf, measuredOf, type StepRequest, type StepResponse } from '../http/take-steps.ts'
import { relayResponse } from './relay-response.ts'

type Answer = (request: StepRequest, response: StepResponse, caller: Caller) => Promise<void>

export function infer(edge: EdgeContext, parse: InferenceKind): Answer {
  return async (request, response, caller) => {
    const config = edge.config.current
    const hold = reservationOf(response)!
    const measured = measuredOf(response)
    const { span, requestId } = measured
    const { asked, model } = await understandFor(edge, caller, requestId, config, parse, request.body, hold)
    // `asked` holds all of it that is needed.
    request.body = undefined
    if (asked.dialect === 'messages') {
      asked.anthropicVersion = headerOf(request, 'anthropic-version')
      asked.anthropicBeta = headerOf(request, 'anthropic-beta')
    }
    measured.model = model.id
    if (span.isRecorded) span.set({ ...requestAttributes(asked.kind, model.id), 'gateway.stream': asked.stream })
    const endpoint = endpointOf(response)
    const key = headerOf(request, IDEMPOTENCY_HEADER)
    const deadlineMs = MAX_REQUEST_MS
    // With a key, the next attempt takes up what this one does not wait for.
    const answer = { stream: asked.stream, streamHeadersWithinMs: KEEP_ALIVE_AFTER_MS }
    const withinMs = key === undefined ? timeForHeadersMs(request.headers as SdkTimeouts, answer) : Infinity
    const headersDueAtMs = measured.startedAtMs + withinMs

    const run = async (client: Client, claim?: string): Promise<void> => {
      refuseWhileUnmetered(edge)
      const admitting = partOf(edge.tracer, span, 'admit')
      let admitted: Admitted
      try {
        admitted = await admit(edge, config, caller, requestId, model, asked)
        hold.provenAs(caller.account, admitted.plan.guest)
        failpoint('edge.admitted')
      } catch (error) {
        noteProven(edge, hold, caller, error)
        throw error
      } finally {
        admitting.end()
      }
      const job = planJob(config, caller, requestId, asked, admitted, headersDueAtMs, span.traceparent, claim)
      const notices = { ...noticeHeaders(model), ...adviceHeader(admitted.lane, asked) }
      const { body } = asked
      const relay = { admitted, notices, job, body, keyHash: caller.keyHash, deadlineMs, endpoint, measured }
      await relayResponse(edge, relay, client)
    }

    if (key === undefined) await run(httpClient(response, { stream: asked.stream, dialect: asked.dialect, requestId }))
    else {
      const runForAll = (client: Client, claim: string) => hold.whileRunning(() => run(client, claim))
      await respondOnce(edge, { key, caller, requestId, asked, deadlineMs }, response, runForAll)
    }
  }
}

/** As the official SDKs say how long they wait. */
export interface SdkTimeouts {
  /** Node's, where a request has a timeout of its own; in whole seconds. */
  'x-stainless-timeout'?: string | undefined
  /** Python's: the longest silence that it bears. The one before the headers is the first. */
  'x-stainless-read-timeout'?: string | undefined
}

/**
 * How long a client waits for the headers of its answer. Nothing after the headers is bound by it: an SDK stops its own timer
 * there. Infinity where the client sets no bound, or one that always holds: a stream's headers are sent within
 * `streamHeadersWithinMs`.
 */
export function timeForHeadersMs(
  said: SdkTimeouts,
  answer: { stream: boolean; streamHeadersWithinMs: number },
): number {
  const bounds = [said['x-stainless-timeout'], said['x-stainless-read-timeout']]
    .map((seconds) => Number(seconds) * 1_000)
    .filter((ms) => ms > 0 && Number.isFinite(ms))
  const boundMs = Math.min(...bounds)
  return answer.stream && boundMs > answer.streamHeadersWithinMs ? Infinity : boundMs
}

/** Only a caller with a live key learns the fault of its request. */
async function understandFor(
  edge: EdgeContext,
  caller: Caller,
  requestId: string,
  config: GatewayConfig,
  parse: InferenceKind,
  body: unknown,
  hold: MemoryReservation,
): Promise<Understood> {
  try {
    if (body instanceof LargeJson) return await edge.largeBodies.understand(config, parse, body, hold)
    return hold.whileWorking(() => understand(config, parse, body))
  } catch (error) {
    await countFault(edge, caller, requestId, error)
    noteProven(edge, hold, caller, error)
    throw error
  }
}

/** Work that could not be metered is not begun. */
function refuseWhileUnmetered(edge: EdgeContext): void {
  if (!edge.bus.durable.isHealthy()) {
    const sentence = 'The gateway cannot meter requests at the moment; try again shortly'
    throw new GatewayError('SERVICE_UNAVAILABLE', sentence, { retryAfterMs: retryAfterMs() })
  }
}

function planJob(
  config: GatewayConfig,
  caller: Caller,
  requestId: string,
  asked: InferenceRequest,
  { plan, lane, price, estimate, hosted, quotaStatus }: Admitted,
  headersDueAtMs: number,
  traceparent: string | undefined,
  claim: string | undefined,
): PlannedJob & CompleteBill {
  return {
    requestId,
    kind: asked.kind,
    dialect: asked.dialect,
    anthropicVersion: asked.anthropicVersion,
    anthropicBeta: asked.anthropicBeta,
    headWithinMs: headersDueAtMs === Infinity ? undefined : Math.max(0, Math.floor(headersDueAtMs - performance.now())),
    configRevision: config.revision,
    pool: lane.pool,
    needs: asked.needs,
    stream: asked.stream,
    includeUsage: asked.includeUsage,
    encodingFormat: asked.encodingFormat,
    ...asked.vectorsOf?.(lane),
    defaultMaxTokens: asked.capsOutput ? undefined : lane.maxOutputTokens,
    mostOutputTokens: isCapped(asked, lane) ? estimate.maxOutputTokens : undefined,
    promptTokensEstimate: estimate.usualPromptTokens,
    reservedOutputTokens: asked.kind === 'images' ? estimate.maxOutputTokens : undefined,
    asksHostedTools: hosted !== undefined,
    hostedTools: hosted,
    tokensBesideSound: hasRateOfSound(price) ? estimate.usualTokensBesideSound : undefined,
    affinityKey: hasAffinity(config, lane.pool) ? asked.conversationKey?.() : undefined,
    account: caller.account,
    keyId: caller.keyId,
    plan: plan.slug,
    unit: plan.unit,
    planVersion: quotaStatus.planVersion,
    window: quotaStatus.window,
    claim,
    modelAsked: asked.model,
    lane: lane.id,
    price,
    startedAtMs: Date.now(),
    traceparent,
  }
}

function hasRateOfSound(price: Price): boolean {
  return price.kind === 'rates' && price.audioInputNanoUsdPerKiloToken !== undefined
}

function isCapped({ kind, capsOutput, outputCap }: InferenceRequest, { maxOutputTokens }: ServedModelConfig): boolean {
  return kind === 'chat' && (capsOutput ? outputCap : maxOutputTokens) !== undefined
}

function hasAffinity(config: GatewayConfig, poolId: string): boolean {
  return config.pools.find(({ id }) => id === poolId)?.affinity === 'conversation'
}

/** From the request to its answer's end. */
export const MAX_REQUEST_MS = 600_000
const IDEMPOTENCY_HEADER = IDEMPOTENCY_KEY.toLowerCase()

/** Of a header that Node gives as one string. */
export function headerOf({ headers }: StepRequest, name: string): string | undefined {
  return headers[name] as string | undefined
}
