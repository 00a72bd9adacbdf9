/**
 * One call to one target, from taking its place to giving it back.
 *
 * Resolves with the usage when the answer is relayed whole. Throws a {@link BackendFault} when the backend failed
 * (`run.shown` tells whether the client had seen something), anything else when the job was aborted.
 */

import type { TokenUsage } from '@gateway/contracts/usage'
import { operationOf, requestAttributes, usageAttributes } from '@gateway/service/gen-ai'
import type { Span } from '@gateway/service/tracing'
import { failpoint } from '@gateway/service/failpoint'
import type { Exchange, ExchangeResponse } from '../clients/exchange.ts'
import { silenceAllowed } from '../core/attempt-patience.ts'
import { BackendFault, isRequestsOwnFault, understood, type Circumstances } from '../core/backend-fault.ts'
import { secretsOf } from '../core/redact.ts'
import { readRetryAfterMs } from '../core/retry-after.ts'
import { noteFault, noteNothing, noteStart, noteSuccess, type Target } from '../fleet.ts'
import { imageFormOf } from '../image-forms.ts'
import type { Router } from '../router.ts'
import { relayPlain } from './relay-plain.ts'
import { relayStream } from './relay-stream.ts'
import { beginWaiting, endWaiting, type Run } from './run.ts'

export interface Trial {
  target: Target
  budgetMs: number
  /** Whether another target stands ready if this one is silent for long. */
  othersLeft: boolean
}

const LARGEST_ERROR_BYTES = 64 * 1024

/** The caller has taken the place at the target's backend; it is free again when the connection is. */
export async function attempt(run: Run, { target, ...bounds }: Trial, router: Router): Promise<TokenUsage> {
  const startedAt = performance.now()
  let outcome = 'aborted'
  noteStart(target)
  run.callSpan = beginSpan(run, target, router)
  let exchange: Exchange | null = null
  try {
    beginWaiting(run)
    exchange = callTarget(run, target, bounds)
    run.exchange = exchange
    failpoint('router.backend-asked')
    if (run.job.signal.aborted) throw run.job.signal.reason
    const response = await exchange.response
    if (response.status !== 200) throw await readRefusal(response, exchange, target)
    const usage = await relayAnswer(run, target, exchange, response, router)
    noteSuccess(target, performance.now())
    outcome = 'served'
    if (run.callSpan.isRecorded) run.callSpan.set(usageAttributes(usage))
    return usage
  } catch (thrown) {
    exchange?.abort(thrown)
    const error = thrown instanceof BackendFault ? understood(thrown, circumstances(run, target)) : tooDeep(thrown)
    outcome = settleHealth(target, error, exchange !== null, router)
    throw error
  } finally {
    endWaiting(run)
    run.exchange = null
    if (outcome !== 'served') run.callSpan.fail(outcome)
    run.callSpan.end()
    void (exchange?.closed ?? Promise.resolve()).then(() => router.places.free(target.backend))
    const durationMs = Math.round(performance.now() - startedAt)
    run.attempts.push({ backend: target.backend.config.id, model: target.model, outcome, durationMs })
    router.metrics.attempt(target.backend.config.id, outcome, durationMs)
  }
}

/** A backend's call, by the conventions for generative AI. */
function beginSpan(run: Run, target: Target, router: Router): Span {
  if (!run.span.isRecorded) return run.span
  const { config } = target.backend
  const { hostname, port, protocol } = new URL(config.url)
  const operation = operationOf(run.header.kind)
  const attributes = {
    ...requestAttributes(run.header.kind, target.model),
    'gen_ai.provider.name': config.dialect,
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

function callTarget(run: Run, target: Target, { budgetMs, othersLeft }: Omit<Trial, 'target'>): Exchange {
  const { kind, stream } = run.header
  const { path, body } = target.backend.dialect.request({
    kind,
    body: run.body,
    model: target.model,
    stream,
    maxTokens: maxTokensFor(run, target),
    imageForm: imageFormOf(target),
  })
  const accept = stream ? 'text/event-stream' : 'application/json'
  const silence = silenceAllowed(target.backend.config.timeouts, { stream, othersLeft })
  const traceparent = run.callSpan.traceparent ?? run.header.traceparent
  return target.backend.client.call({
    path,
    body,
    accept,
    requestId: run.header.requestId,
    traceparent,
    budgetMs,
    silence,
  })
}

/** The lane's cap where the client gave none, within what the target's window leaves beside the prompt. */
function maxTokensFor(run: Run, target: Target): number | undefined {
  const { defaultMaxTokens, promptTokensEstimate } = run.header
  if (defaultMaxTokens === undefined || target.contextWindow === undefined) return defaultMaxTokens
  return Math.max(1, Math.min(defaultMaxTokens, target.contextWindow - promptTokensEstimate))
}

async function relayAnswer(
  run: Run,
  target: Target,
  exchange: Exchange,
  response: ExchangeResponse,
  router: Router,
): Promise<TokenUsage> {
  if (!run.header.stream) return relayPlain(run, target, exchange, router)
  const contentType = String(response.headers['content-type'] ?? '')
  if (/^(text\/html|application\/json)/i.test(contentType)) {
    throw new BackendFault('invalid_answer', `the backend answered a stream with ${contentType}`)
  }
  return relayStream(run, target, exchange, router)
}

async function readRefusal(
  { status, headers }: ExchangeResponse,
  exchange: Exchange,
  target: Target,
): Promise<BackendFault> {
  exchange.expectEnd()
  const bytes = await exchange.readAll(LARGEST_ERROR_BYTES).catch(() => Buffer.alloc(0))
  const body = target.backend.dialect.readErrorBody(bytes.toString('utf8'))
  const retryAfterMs = readRetryAfterMs(headers, Date.now())
  return new BackendFault('status', `the backend answered with status ${status}`, {
    status,
    ...(body === null ? {} : { body }),
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
  })
}

/** JSON can be read that is nested so deeply that nothing can be written of it. */
function tooDeep(thrown: unknown): unknown {
  if (!(thrown instanceof RangeError)) return thrown
  return new BackendFault('invalid_answer', 'the answer is nested too deeply', { cause: thrown })
}

function circumstances(run: Run, { backend }: Target): Circumstances {
  return { asked: run.body, secrets: secretsOf(backend.config) }
}

/** What the end of an attempt says about its target; the attempt's outcome in a word. */
function settleHealth(target: Target, error: unknown, wasCalled: boolean, router: Router): string {
  if (!(error instanceof BackendFault)) {
    noteNothing(target)
    return 'aborted'
  }
  // Its dialect could not express the request, so the target was never called.
  if (!wasCalled) noteNothing(target)
  else if (isRequestsOwnFault(error)) noteSuccess(target, performance.now())
  else router.metrics.health(target.backend.config.id, noteFault(target, error, performance.now()))
  return error.outcome
}
