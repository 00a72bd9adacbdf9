/**
 * One call to one target, from taking its slot to giving it back.
 *
 * Resolves with the usage when the response is relayed whole. Throws a {@link BackendFault} when the backend failed
 * (`run.shown` shows whether the client had seen something), anything else when the job was aborted.
 */

import type { JobHeader } from '@gateway/contracts/job'
import type { TokenUsage } from '@gateway/contracts/usage'
import { operationOf, requestAttributes, type Span, usageAttributes } from '@gateway/telemetry/tracing'
import { failpoint } from '@gateway/service/failpoint'
import type { ExchangeResponse } from '../clients/exchange.ts'
import { wasFaster } from '../core/attempts.ts'
import { leaveOutAttribution } from '../core/attribution.ts'
import {
  BackendFault,
  isLeftWaiting,
  isRequestsOwnFault,
  mayBeTheRequests,
  classifyFault,
  type Circumstances,
} from '../core/backend-fault.ts'
import { dimensionsToRequest } from '../core/embeddings-request.ts'
import { allowedAt, type HostedToolRequest } from '../core/hosted-tools.ts'
import { UnknownSealKey } from '../core/state-seal.ts'
import { noSummary } from '../dialects/compaction/response.ts'
import { versionHeaders } from '../dialects/messages-to-messages/version-headers.ts'
import {
  clientDialect,
  isNative,
  isHalfOpen,
  isUsable,
  routeOf,
  stateKindOf,
  type Target,
} from '../backend-registry.ts'
import type { Slot } from '../concurrency-limiter.ts'
import { reportRecovery, reportTrouble } from '../report-to-operator.ts'
import type { RouterContext } from '../router-context.ts'
import { effortsFor, type FailoverState, type PendingFailure, type AttemptPlan } from './failover-state.ts'
import { learnFeatures } from './learn-features.ts'
import { noStream, readInstead, readRefusal } from './read-refusal.ts'
import { relayPlain } from './relay-plain.ts'
import { relayStream } from './relay-stream.ts'
import { endWaiting, remainingMs, workOf, type BoundJob, type Call, type JobContext } from '../job-context.ts'

/** The caller has taken the slot at the target's backend; it is free again when the connection is. */
export async function attempt(failoverState: FailoverState, plan: AttemptPlan): Promise<TokenUsage> {
  const { run, router } = failoverState
  const { slot } = plan
  const { target, startedAtMs } = slot
  let outcome = 'aborted'
  const span = beginSpan(run, target, router)
  let call: Call | null = null
  try {
    const seals = run.header.compaction !== undefined || stateKindOf(target, run.header) !== undefined
    const preparing = seals ? router.stateSecrets.prepare() : undefined
    if (preparing) await preparing
    const called = callWithState(run, plan, span, router)
    call = called instanceof Promise ? await called : called
    run.call = call
    failpoint('router.backend-called')
    if (run.job.aborted) throw run.job.aborted
    const response = await call.exchange.response
    if (hasNoEndpoint(target, run.header, response)) throw noSummary('it has no such endpoint')
    if (response.status >= 300) throw await readRefusal(response, call.exchange, routeOf(target, run.header).dialect)
    const usage = await relayResponse(failoverState, call, slot, response)
    router.limiter.recordSuccess(slot)
    if (target.state.trouble) reportRecovery(target, router.logger)
    outcome = 'served'
    if (span.isRecorded) span.set(usageAttributes(usage))
    return usage
  } catch (thrown) {
    call?.exchange.abort(thrown)
    const error = thrown instanceof BackendFault ? classifyFault(thrown, circumstances(run, target)) : tooDeep(thrown)
    // Before its secrets are taken out: a flag may look like one.
    if (thrown instanceof BackendFault && error instanceof BackendFault && isRequestsOwnFault(error))
      learnFeatures(failoverState, plan, thrown)
    const isCutOff = error instanceof BackendFault && error.kind === 'out_of_time'
    if (isCutOff && call?.exchange.wasAtWork) run.cutOff = workOf(run, call)
    outcome = judgeHealth(failoverState, slot, error, call)
    throw error
  } finally {
    router.limiter.recordEnd(slot)
    if (call) endWaiting(run, call)
    run.call = null
    if (outcome !== 'served') span.fail(outcome)
    span.end()
    void (call?.exchange.closed ?? Promise.resolve()).then(() => router.limiter.free(target.backend))
    const durationMs = Math.round(performance.now() - startedAtMs)
    run.attempts.push({ backend: target.backend.config.id, model: target.model, outcome, durationMs })
    router.metrics.attempt(target.backend.config.id, outcome, durationMs)
  }
}

/** A backend's call, by the conventions for generative AI. */
function beginSpan(run: JobContext, target: Target, router: RouterContext): Span {
  if (!run.span.isRecorded) return run.span
  const { config } = target.backend
  const { hostname, port, protocol } = new URL(config.url)
  const operation = operationOf(run.header.kind)
  const attributes = {
    ...requestAttributes(run.header.kind, target.model),
    'gen_ai.provider.name': config.vendor ?? config.dialect,
    'server.address': hostname,
    'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
    'gateway.backend': config.id,
  }
  return router.tracer.start(`${operation} ${target.model}`, {
    kind: 'client',
    parent: run.span.traceparent,
    attributes,
  })
}

/** A token under an unknown key makes the router fetch the secrets, and translate the request again. */
function callWithState(
  run: BoundJob,
  plan: AttemptPlan,
  span: Span,
  { stateSecrets }: RouterContext,
): Call | Promise<Call> {
  try {
    return callTarget(run, plan, span)
  } catch (thrown) {
    if (!(thrown instanceof UnknownSealKey)) throw thrown
    return stateSecrets.refresh().then(() => {
      run.states.isFinal = true
      return callTarget(run, plan, span)
    })
  }
}

function callTarget(run: BoundJob, plan: AttemptPlan, span: Span): Call {
  const { form, refusedFeatures, shareMs, othersLeft } = plan
  const { target } = plan.slot
  const { kind, stream } = run.header
  const waitingSinceMs = performance.now()
  const { dialect, headers, target: targetDialect } = routeOf(target, run.header)
  const { path, body, dropped, echo } = dialect.request({
    kind,
    body: target.backend.readsAttribution ? run.body : leaveOutAttribution(run.body),
    model: target.model,
    stream,
    maxTokens: maxTokensFor(run, target),
    dimensions: kind === 'embeddings' ? dimensionsToRequest(target.model, run.header) : undefined,
    form,
    refusedFeatures,
    efforts: effortsFor(target, targetDialect),
    profile: target.backend.profile,
    policy: target.policies[kind === 'chat' ? targetDialect : kind],
    hosted: hostedToolRequest(run.header, target),
    states: run.states,
    stateKind: stateKindOf(target, run.header),
    alienStates: target.alienStates,
  })
  const sent =
    targetDialect === 'messages' ? versionHeaders(headers, run.header, refusedFeatures) : { headers, dropped: [] }
  const exchange = target.backend.client.call({
    path,
    headers: sent.headers,
    body,
    accept: stream ? 'text/event-stream' : 'application/json',
    requestId: run.header.requestId,
    traceparent: span.traceparent ?? run.header.traceparent,
    budgetMs: remainingMs(run),
    timeoutPolicy: { stream, shareMs, othersLeft },
  })
  return { target, exchange, span, dropped: [...dropped, ...sent.dropped], echo, waitingSinceMs, usage: null }
}

/** A translation out of another dialect than chat leaves the vendor's tools out by itself. */
function hostedToolRequest(header: JobHeader, target: Target): HostedToolRequest | undefined {
  const dialect = clientDialect(header)
  if (header.kind !== 'chat' || (dialect !== 'chat' && !isNative(target, header))) return undefined
  const allowed = allowedAt(dialect, target.backend.profile, header.hostedTools)
  return { dialect, isRequested: header.asksHostedTools, allowed }
}

/** The lane's cap where the client gave none, as far as the target's window has space behind the prompt. */
function maxTokensFor(run: JobContext, target: Target): number | undefined {
  const { defaultMaxTokens, promptTokensEstimate } = run.header
  if (defaultMaxTokens === undefined || target.contextWindow === undefined) return defaultMaxTokens
  return Math.max(1, Math.min(defaultMaxTokens, target.contextWindow - promptTokensEstimate))
}

async function relayResponse(
  failoverState: FailoverState,
  call: Call,
  slot: Slot,
  response: ExchangeResponse,
): Promise<TokenUsage> {
  const { run, router } = failoverState
  const begun = () => {
    router.limiter.recordContent(slot)
    judgePendingFailures(failoverState, slot)
  }
  if (!run.header.stream) return relayPlain(run, call, router, begun)
  const contentType = String(response.headers['content-type'] ?? '')
  if (/^text\/html/i.test(contentType)) throw noStream(contentType)
  if (/^application\/json/i.test(contentType)) throw await readInstead(run, call, contentType)
  return relayStream(run, call, router, begun)
}

/** A vendor's model, or its address, does not compact. That says nothing of its other endpoints. */
function hasNoEndpoint(target: Target, header: JobHeader, { status }: ExchangeResponse): boolean {
  return header.compaction === 'endpoint' && isNative(target, header) && ABSENT.has(status)
}

const ABSENT = new Set([404, 405, 501])

/** JSON can be read that is nested so deeply that nothing can be written of it. */
function tooDeep(thrown: unknown): unknown {
  if (!(thrown instanceof RangeError)) return thrown
  return new BackendFault('invalid_answer', 'the answer is nested too deeply', { cause: thrown })
}

function circumstances(run: BoundJob, { backend }: Target): Circumstances {
  return { clientRequest: run.body, secrets: backend.secrets(), meanings: backend.meanings.errors }
}

/** Judges the target's health by the end of an attempt, and returns the attempt's outcome in a word. */
function judgeHealth(failoverState: FailoverState, slot: Slot, error: unknown, call: Call | null): string {
  const { run, router } = failoverState
  const nowMs = performance.now()
  const { firstByteMs, idleMs } = slot.target.backend.config.timeouts
  const fault = error instanceof BackendFault ? error : null
  // Its dialect could not express the request, so the target was never called.
  if (call === null) return fault?.outcome ?? 'aborted'
  if (fault) {
    reportTrouble(slot.target, fault, router.logger)
    router.shortages.report(fault)
  }
  if (fault === null || fault.kind === 'out_of_time') {
    const isSilent = run.header.stream && !run.delivered && !call.exchange.hasBegun
    const isOverdue = isSilent && nowMs - slot.startedAtMs >= firstByteMs
    if (isOverdue) judgeSilence(failoverState, slot, slot.startedAtMs)
  } else if (isRequestsOwnFault(fault)) {
    router.limiter.recordSuccess(slot)
  } else if (run.delivered && fault.kind === 'idle_timeout') {
    judgeSilence(failoverState, slot, nowMs - idleMs)
  } else if (isLeftWaiting(fault) || (mayBeTheRequests(fault) && !isHalfOpen(slot.target, slot.account))) {
    failoverState.pendingFailures.push({ slot, fault, afterMs: nowMs - slot.startedAtMs })
  } else {
    recordFailure(slot, fault, router)
  }
  return fault?.outcome ?? 'aborted'
}

/**
 * A stream has ended in a silence that no next target could judge: it was the last one, its client left, or it had begun.
 * Silence alone may be a whole pool's load, so it is a fault only if another target has responded meanwhile.
 */
function judgeSilence({ capable, router }: FailoverState, slot: Slot, silentSinceMs: number): void {
  const nowMs = performance.now()
  const haveOthersResponded = capable.some(
    (other) =>
      other.backend !== slot.target.backend &&
      other.backend.respondedFromMs >= silentSinceMs &&
      isUsable(other, nowMs, slot.account),
  )
  if (haveOthersResponded) recordFailure(slot, new BackendFault('idle_timeout', 'silent'), router)
}

/** A later attempt has content: the request was not wrong, and those that had been given longer than it took were slow. */
function judgePendingFailures(failoverState: FailoverState, responding: Slot): void {
  for (const pendingFailure of failoverState.pendingFailures.splice(0)) {
    const { slot, fault } = pendingFailure
    if (!isLeftWaiting(fault) || isTooSlow(pendingFailure, responding, failoverState))
      recordFailure(slot, fault, failoverState.router)
  }
}

/** The last usable target stays, however slow: there is nobody to go to instead. */
function isTooSlow({ slot, afterMs }: PendingFailure, responding: Slot, { capable }: FailoverState): boolean {
  const { account } = slot
  const { backend } = slot.target
  const nowMs = performance.now()
  if (backend === responding.target.backend || !wasFaster(nowMs - responding.startedAtMs, afterMs)) return false
  return capable.some((other) => other.backend !== backend && isUsable(other, nowMs, account))
}

export function recordFailure(slot: Slot, fault: BackendFault, router: RouterContext): void {
  router.metrics.health(slot.target.backend.config.id, router.limiter.recordFailure(slot, fault))
}
