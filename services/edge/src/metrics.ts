/**
 * The edge's counts and measurements. On a request's way, a measurement is an addition to a counter that was looked up
 * before. Labels come from the routes, the config's models and the contract's codes, never from a client.
 */

import { denyReasons, type AdmitDecision } from '@gateway/admission/port'
import type { ErrorCode } from '@gateway/contracts/errors'
import type { TokenUsage } from '@gateway/contracts/usage'
import { DURATION_BOUNDS, memoize, type Metrics, SHORT_BOUNDS } from '@gateway/telemetry/metrics'
import { countShed, countTokens, observeShedLimit, observeStreams } from '@gateway/telemetry/process-metrics'
import type { ByteBudget } from './core/memory-budget.ts'
import { OK } from './core/traffic.ts'

export interface EdgeMetrics {
  /** A response is over. `model`: the requested one of the config; empty: none. */
  responseEnded(endpoint: string, model: string, outcome: string, tookMs: number): void
  /** From the request to the beginning of its response, less the backends' time until then. */
  added(endpoint: string, tookMs: number): void
  firstToken(lane: string, tookMs: number): void
  admission(decision: AdmitDecision, tookMs: number): void
  admittedWithoutStore(): void
  tokens(lane: string, usage: TokenUsage): void
  /** A router was lost while it had a request. `isLast`: the edge gives the request up. */
  routerLost(isLast: boolean): void
  /** The outcome of a request with an `Idempotency-Key`. */
  idempotent(outcome: IdempotencyOutcome): void
  /** A client named Auto. `wanted`: the lane that it chose; `lane`: the one that serves. */
  autoChose(wanted: string, lane: string): void
  /** Refused or given up so that the rest is served. */
  shed(reason: ShedReason): void
}

const SHED_REASONS = ['late', 'routers_busy', 'no_room', 'sender_full', 'unread_answer'] as const
type ShedReason = (typeof SHED_REASONS)[number]

const IDEMPOTENCY_OUTCOMES = ['ran', 'joined', 'replayed', 'refused'] as const
type IdempotencyOutcome = (typeof IDEMPOTENCY_OUTCOMES)[number]

export function edgeMetrics(metrics: Metrics): EdgeMetrics {
  return {
    ...requestMetrics(metrics),
    ...admissionMetrics(metrics),
    tokens: countTokens(metrics),
    routerLost: countLosses(metrics),
    idempotent: countIdempotent(metrics),
    autoChose: countAutoChoices(metrics),
    shed: countShed(metrics, SHED_REASONS),
  }
}

export function observeRunning(metrics: Metrics, running: { readonly count: number; readonly streams: number }): void {
  metrics.observedGauge('gateway_requests_in_flight', 'admitted requests under way', () => running.count)
  observeStreams(metrics, () => running.streams)
}

export function observeShedding(metrics: Metrics, shedder: { readonly count: number; readonly limit: number }): void {
  metrics.observedGauge('gateway_intake', 'requests at an edge between arrival and router', () => shedder.count)
  observeShedLimit(metrics, shedder)
}

export function observeSockets(metrics: Metrics, sockets: { readonly count: number }): void {
  metrics.observedGauge('gateway_websockets', 'open WebSockets of clients', () => sockets.count)
}

/** By their holder. */
export function observeBytes(metrics: Metrics, { budget }: { readonly budget: ByteBudget }): void {
  metrics.observedGauge(
    'gateway_bytes_in_flight',
    'bytes at an edge: bodies of `unproven` keys, of keys in look-up (`proving`), of `guests` and `accounts`; unread `answers`',
    () => Object.entries(budget.memoryBudgets).map(([memoryBudget, { used }]) => [[memoryBudget], used] as const),
    ['pot'],
  )
}

function requestMetrics(metrics: Metrics): Pick<EdgeMetrics, 'responseEnded' | 'added' | 'firstToken'> {
  const requests = metrics.counter(
    'gateway_requests_total',
    "responses: `ok`, `client_gone`, or the error's code; `model` is the requested one",
    ['endpoint', 'model', 'outcome'],
  )
  const seconds = metrics.histogram('gateway_request_seconds', 'request to end of answer', DURATION_BOUNDS, [
    'endpoint',
  ])
  const added = metrics.histogram(
    'gateway_added_seconds',
    "request to beginning of answer (a stream: first content), without the backends' time",
    SHORT_BOUNDS,
    ['endpoint'],
  )
  const firstToken = metrics.histogram(
    'gateway_time_to_first_token_seconds',
    "request to a stream's first content; `model` is the lane",
    DURATION_BOUNDS,
    ['model'],
  )
  const defects = metrics
    .counter('gateway_internal_errors_total', 'defects of the gateway: answers INTERNAL_ERROR')
    .labels()
  const byEndpoint = memoize((endpoint) => ({
    seconds: seconds.labels(endpoint),
    ok: memoize((model) => requests.labels(endpoint, model, OK)),
    /** Refused before its model was read, which happens by the thousand. */
    unread: memoize((outcome) => requests.labels(endpoint, '', outcome)),
  }))
  const addedAt = memoize((endpoint) => added.labels(endpoint))
  const firstTokenOf = memoize((lane) => firstToken.labels(lane))
  return {
    responseEnded(endpoint, model, outcome, tookMs) {
      const cells = byEndpoint(endpoint)
      cells.seconds.observe(tookMs / 1_000)
      if (outcome === OK) cells.ok(model).add()
      else if (model === '') cells.unread(outcome).add()
      else requests.labels(endpoint, model, outcome).add()
      if (outcome === DEFECT) defects.add()
    },
    added: (endpoint, tookMs) => addedAt(endpoint).observe(tookMs / 1_000),
    firstToken: (lane, tookMs) => firstTokenOf(lane).observe(tookMs / 1_000),
  }
}

const DEFECT: ErrorCode = 'INTERNAL_ERROR'

function countLosses(metrics: Metrics): EdgeMetrics['routerLost'] {
  const counter = metrics.counter(
    'gateway_router_losses_total',
    'requests with a lost router; `yes`: for the third time',
    ['given_up'],
  )
  const [once, tooOften] = [counter.labels('no'), counter.labels('yes')]
  return (isLast) => (isLast ? tooOften : once).add()
}

function countIdempotent(metrics: Metrics): EdgeMetrics['idempotent'] {
  const counter = metrics.counter(
    'gateway_idempotent_requests_total',
    'requests with an `Idempotency-Key`: `ran`, `joined` a running one, `replayed` a kept answer, `refused` with another body',
    ['outcome'],
  )
  const cells = new Map(IDEMPOTENCY_OUTCOMES.map((outcome) => [outcome, counter.labels(outcome)]))
  return (outcome) => cells.get(outcome)?.add()
}

function countAutoChoices(metrics: Metrics): EdgeMetrics['autoChose'] {
  const counter = metrics.counter(
    'gateway_auto_choices_total',
    'lanes that Auto chose; `acted` is `no` in shadow mode',
    ['lane', 'acted'],
  )
  const heeded = memoize((wanted) => counter.labels(wanted, 'yes'))
  const unheeded = memoize((wanted) => counter.labels(wanted, 'no'))
  return (wanted, lane) => (wanted === lane ? heeded : unheeded)(wanted).add()
}

function admissionMetrics(metrics: Metrics): Pick<EdgeMetrics, 'admission' | 'admittedWithoutStore'> {
  const decisions = metrics.counter(
    'gateway_admission_answers_total',
    '`allow`, `deny` (by `limit`), `plan`, `miss`, `cold`',
    ['answer', 'limit'],
  )
  const seconds = metrics.histogram('gateway_admission_seconds', 'calls of admission', SHORT_BOUNDS).labels()
  const alone = metrics
    .counter('gateway_admission_without_store_total', 'decisions of an edge alone while Redis is away')
    .labels()
  const undenied = {
    allow: decisions.labels('allow', ''),
    plan: decisions.labels('plan', ''),
    miss: decisions.labels('miss', ''),
    cold: decisions.labels('cold', ''),
  }
  const denied = new Map(denyReasons.map((reason) => [reason, decisions.labels('deny', reason)]))
  return {
    admission(decision, tookMs) {
      seconds.observe(tookMs / 1_000)
      if (decision.kind === 'deny') denied.get(decision.reason)?.add()
      else undenied[decision.kind].add()
    },
    admittedWithoutStore: () => alone.add(),
  }
}
