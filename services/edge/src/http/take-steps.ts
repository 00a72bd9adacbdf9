/**
 * A request's way through steps that are known beforehand. The steps are Express' kind of middleware, without a router
 * between one and the next, which costs more than most steps do. The same steps serve under Express.
 *
 * The first step begins the request. It gets an id of ours (UUIDv7, never a client's), which is its `x-request-id`. The id
 * also names the job on the bus, the reservation in the admission store and the row in the ledger. From there the edge
 * measures the request until its response ends by a route, an error or the client's departure. Where traces are on, a span
 * measures it, too.
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { randomFillSync } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { NO_SPAN, type Span, type Tracer } from '@gateway/telemetry/tracing'
import { OK, type Traffic } from '../core/traffic.ts'
import type { EdgeMetrics } from '../metrics.ts'

export interface StepRequest extends IncomingMessage {
  /** Once it was read. */
  body?: unknown
}

export interface StepResponse extends ServerResponse {
  /** Values that steps leave for the steps behind them. */
  locals: Record<string, unknown>
  /** The bytes that the client gets of an event of its stream, where they are others. */
  shownOf?(event: Buffer): Buffer
}

export type Next = (error?: unknown) => void
export type Step = (request: StepRequest, response: StepResponse, next: Next) => void | Promise<void>
export type Fail = (error: unknown, request: StepRequest, response: StepResponse) => void

/**
 * A step that throws, rejects or hands an error to `next` ends the way, and the error goes to `fail`, once. `endpoint`: the
 * route as it is documented.
 */
export function takeSteps(endpoint: string, steps: readonly Step[], fail: Fail): RequestListener {
  return (request, incoming) => {
    const response = Object.assign(incoming, { locals: { endpoint } })
    let taken = 0
    const next: Next = (error) => {
      if (error !== undefined) return fail(error, request, response)
      try {
        const step = steps[taken++]
        step?.(request, response, next)?.catch((thrown: unknown) => fail(thrown, request, response))
      } catch (thrown) {
        fail(thrown, request, response)
      }
    }
    next()
  }
}

export interface Measured {
  readonly requestId: string
  readonly startedAtMs: number
  /** The config's model that the request names, once it is known. */
  model: string
  /** The account, once its key has proven to be alive. */
  account: string
  /** The backend that responds. */
  backend: string
  /** From the request to a stream's first content. */
  firstTokenMs: number | null
  /** Counts it at its end; null: it is no request to a model. */
  traffic: Traffic | null
  /** The code of the error that ended the request. */
  failure: string | null
  readonly metrics: EdgeMetrics
  /** The whole request. */
  readonly span: Span
}

export function beginRequest({ metrics, tracer }: { metrics: EdgeMetrics; tracer: Tracer }): Step {
  return (request, response, next) => {
    const span = tracer.isOn
      ? tracer.enter(methodOf(response), {
          kind: 'server',
          parent: request.headers['traceparent'] as string | undefined,
        })
      : NO_SPAN
    const requestId = uuidv7({ random: freshBytes() })
    const measured: Measured = {
      requestId,
      startedAtMs: performance.now(),
      model: '',
      account: '',
      backend: '',
      firstTokenMs: null,
      traffic: null,
      failure: null,
      metrics,
      span,
    }
    response.locals['measured'] = measured
    response.setHeader('x-request-id', requestId)
    response.on('close', onClose)
    next()
  }
}

/** A request to a model. */
export function countTraffic({ traffic }: { traffic: Traffic }): Step {
  return (_request, response, next) => {
    measuredOf(response).traffic = traffic
    next()
  }
}

export function measuredOf(response: StepResponse): Measured {
  return response.locals['measured'] as Measured
}

/** The route as it is written in `routes.ts`, never the path that came. */
export function endpointOf(response: StepResponse): string {
  const { endpoint } = response.locals as { endpoint?: string }
  if (endpoint !== undefined) return endpoint
  const { route } = response.req as { route?: { path?: string } }
  return route?.path ?? 'other'
}

/** Reads a header that Node gives as one string. */
export function headerOf({ headers }: StepRequest, name: string): string | undefined {
  return headers[name] as string | undefined
}

const methodOf = (response: StepResponse): string => response.req.method ?? ''

function onClose(this: StepResponse): void {
  const measured = measuredOf(this)
  const { metrics, model, failure, startedAtMs, span, traffic } = measured
  const outcome = failure ?? (this.writableFinished ? OK : 'client_gone')
  const tookMs = performance.now() - startedAtMs
  metrics.responseEnded(endpointOf(this), model, outcome, tookMs)
  const { account, backend, firstTokenMs } = measured
  traffic?.add({ model, backend, account, outcome, tookMs, firstTokenMs }, Date.now())
  if (span.isRecorded) endSpan(measured, this, outcome)
}

function endSpan({ span, requestId }: Measured, response: StepResponse, outcome: string): void {
  const endpoint = endpointOf(response)
  const method = methodOf(response)
  span.rename(`${method} ${endpoint}`)
  span.set({
    'http.request.method': method,
    'http.route': endpoint,
    'http.response.status_code': response.statusCode,
    'gateway.request_id': requestId,
    'gateway.outcome': outcome,
  })
  if (outcome !== OK && (response.statusCode >= 500 || response.statusCode < 400)) span.fail(outcome)
  span.end()
}

const BYTES_OF_AN_ID = 16
/** A call to the system for randomness costs the same for one id as for hundreds. */
const pool = new Uint8Array(256 * BYTES_OF_AN_ID)
let used = pool.length

function freshBytes(): Uint8Array {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const begin = used
  used += BYTES_OF_AN_ID
  return pool.subarray(begin, used)
}
