/**
 * What the edge counts and measures. On a request's way a measurement is an addition to a cell that was looked up
 * before: the labels come from the routes, the config's models and the contract's codes, never from a client.
 */

import type { AdmitAnswer } from '@gateway/admission/edge'
import type { ErrorCode } from '@gateway/contracts/errors'
import type { TokenUsage } from '@gateway/contracts/usage'
import { DURATION_BOUNDS, SHORT_BOUNDS, type Metrics } from '@gateway/telemetry/metrics'
import { countTokens } from '@gateway/telemetry/count-tokens'
import { remember } from '@gateway/telemetry/remember'
import type { BytesInFlight } from './read/bytes-in-flight.ts'
import type { RunningRequests } from './relay/running-requests.ts'

export interface EdgeMetrics {
  /** A response is over. `model`: the config's, as asked for; empty where none was. */
  answered(endpoint: string, model: string, outcome: string, tookMs: number): void
  /** From the request to the beginning of its answer, less what backends took until then. */
  added(endpoint: string, tookMs: number): void
  firstToken(lane: string, tookMs: number): void
  admission(answer: AdmitAnswer, tookMs: number): void
  admittedWithoutStore(): void
  tokens(lane: string, usage: TokenUsage): void
  /** A router was lost while it had a request. `isLast`: the edge gives the request up. */
  routerLost(isLast: boolean): void
  /** What became of a request with an `Idempotency-Key`. */
  idempotent(outcome: IdempotencyOutcome): void
  /** Auto was asked. `wanted`: the lane that it chose; `lane`: the one that answers. */
  autoChose(wanted: string, lane: string): void
  /** Refused or given up so that the rest is served. */
  shed(reason: ShedReason): void
}

const SHED_REASONS = ['late', 'routers_busy', 'no_room', 'sender_full', 'unread_answer'] as const
export type ShedReason = (typeof SHED_REASONS)[number]

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
    shed: countShed(metrics),
  }
}

export function observeRunning(metrics: Metrics, running: RunningRequests): void {
  metrics.observedGauge('gateway_requests_in_flight', 'Admitted requests under way', () => running.count)
  metrics.observedGauge('gateway_streams_in_flight', 'Streamed answers under way', () => running.streams)
}

export function observeIntake(metrics: Metrics, intake: { readonly count: number; readonly limit: number }): void {
  metrics.observedGauge('gateway_intake', 'Requests on their way to a router', () => intake.count)
  metrics.observedGauge('gateway_intake_limit', 'The most that are taken on at once', () => intake.limit)
}

/** By what holds them. */
export function observeBytes(metrics: Metrics, { budget }: BytesInFlight): void {
  metrics.observedGauge(
    'gateway_bytes_in_flight',
    'Bytes of bodies and unread answers that are held',
    () => Object.entries(budget.pots).map(([pot, { used }]) => [[pot], used] as const),
    ['pot'],
  )
}

function requestMetrics(metrics: Metrics): Pick<EdgeMetrics, 'answered' | 'added' | 'firstToken'> {
  const requests = metrics.counter('gateway_requests_total', 'Responses by how they ended', [
    'endpoint',
    'model',
    'outcome',
  ])
  const seconds = metrics.histogram('gateway_request_seconds', 'From request to end of answer', DURATION_BOUNDS, [
    'endpoint',
  ])
  const added = metrics.histogram(
    'gateway_added_seconds',
    'From request to beginning of answer, less what backends took',
    SHORT_BOUNDS,
    ['endpoint'],
  )
  const firstToken = metrics.histogram(
    'gateway_time_to_first_token_seconds',
    'From request to the first content of a streamed answer',
    DURATION_BOUNDS,
    ['model'],
  )
  const defects = metrics.counter('gateway_internal_errors_total', 'Answers that were INTERNAL_ERROR').labels()
  const byEndpoint = remember((endpoint) => ({
    seconds: seconds.labels(endpoint),
    ok: remember((model) => requests.labels(endpoint, model, OK)),
  }))
  const addedAt = remember((endpoint) => added.labels(endpoint))
  const firstTokenOf = remember((lane) => firstToken.labels(lane))
  return {
    answered(endpoint, model, outcome, tookMs) {
      const cells = byEndpoint(endpoint)
      cells.seconds.observe(tookMs / 1_000)
      if (outcome === OK) cells.ok(model).add()
      else requests.labels(endpoint, model, outcome).add()
      if (outcome === DEFECT) defects.add()
    },
    added: (endpoint, tookMs) => addedAt(endpoint).observe(tookMs / 1_000),
    firstToken: (lane, tookMs) => firstTokenOf(lane).observe(tookMs / 1_000),
  }
}

export const OK = 'ok'
const DEFECT: ErrorCode = 'INTERNAL_ERROR'

function countLosses(metrics: Metrics): EdgeMetrics['routerLost'] {
  const counter = metrics.counter(
    'gateway_router_losses_total',
    'Requests whose router was lost; given_up: too often',
    ['given_up'],
  )
  const [once, tooOften] = [counter.labels('no'), counter.labels('yes')]
  return (isLast) => (isLast ? tooOften : once).add()
}

function countIdempotent(metrics: Metrics): EdgeMetrics['idempotent'] {
  const counter = metrics.counter('gateway_idempotent_requests_total', 'Requests with an Idempotency-Key', ['outcome'])
  const cells = new Map(IDEMPOTENCY_OUTCOMES.map((outcome) => [outcome, counter.labels(outcome)]))
  return (outcome) => cells.get(outcome)?.add()
}

function countAutoChoices(metrics: Metrics): EdgeMetrics['autoChose'] {
  const counter = metrics.counter('gateway_auto_choices_total', 'Lanes that Auto chose; acted: no in shadow mode', [
    'lane',
    'acted',
  ])
  const heeded = remember((wanted) => counter.labels(wanted, 'yes'))
  const unheeded = remember((wanted) => counter.labels(wanted, 'no'))
  return (wanted, lane) => (wanted === lane ? heeded : unheeded)(wanted).add()
}

function countShed(metrics: Metrics): EdgeMetrics['shed'] {
  const counter = metrics.counter('gateway_shed_total', 'Requests refused or given up so that the rest is served', [
    'reason',
  ])
  const cells = new Map(SHED_REASONS.map((reason) => [reason, counter.labels(reason)]))
  return (reason) => cells.get(reason)?.add()
}

type DenyReason = Extract<AdmitAnswer, { kind: 'deny' }>['reason']
const DENY_REASONS: DenyReason[] = ['key', 'plan', 'requests', 'tokens', 'day', 'allowance', 'pending']

function admissionMetrics(metrics: Metrics): Pick<EdgeMetrics, 'admission' | 'admittedWithoutStore'> {
  const answers = metrics.counter('gateway_admission_answers_total', 'Answers of admission; limit: what denied', [
    'answer',
    'limit',
  ])
  const seconds = metrics.histogram('gateway_admission_seconds', 'Time to be admitted or not', SHORT_BOUNDS).labels()
  const alone = metrics
    .counter('gateway_admission_without_store_total', 'Decisions of this edge alone, the store being away')
    .labels()
  const undenied = {
    allow: answers.labels('allow', ''),
    plan: answers.labels('plan', ''),
    miss: answers.labels('miss', ''),
    cold: answers.labels('cold', ''),
  }
  const denied = new Map(DENY_REASONS.map((reason) => [reason, answers.labels('deny', reason)]))
  return {
    admission(answer, tookMs) {
      seconds.observe(tookMs / 1_000)
      if (answer.kind === 'deny') denied.get(answer.reason)?.add()
      else undenied[answer.kind].add()
    },
    admittedWithoutStore: () => alone.add(),
  }
}
