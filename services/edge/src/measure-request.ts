/**
 * Measures every request from its first middleware to the end of its response, whatever route, error or departure of
 * the client ends it; where traces are on, as a span as well.
 */

import type { RequestHandler, Response } from 'express'
import { NO_SPAN, type Span } from '@gateway/service/tracing'
import type { Edge } from './edge.ts'
import { OK, type EdgeMetrics } from './metrics.ts'
import { requestIdOf } from './name-request.ts'

export interface Measured {
  readonly startedAtMs: number
  /** The config's model that was asked for, once it is known. */
  model: string
  /** The code of the error that ended the request. */
  failure: string | null
  readonly metrics: EdgeMetrics
  /** The whole request. */
  readonly span: Span
}

export function measureRequest({ metrics, tracer }: Pick<Edge, 'metrics' | 'tracer'>): RequestHandler {
  return (request, response, next) => {
    const span = tracer.isOn
      ? tracer.enter(request.method, { kind: 'server', parent: request.get('traceparent') })
      : NO_SPAN
    const measured: Measured = { startedAtMs: performance.now(), model: '', failure: null, metrics, span }
    response.locals['measured'] = measured
    response.on('close', onClose)
    next()
  }
}

export function measuredOf(response: Response): Measured {
  return response.locals['measured'] as Measured
}

/** The route as it is written in `app.ts`, never the path that came. */
export function endpointOf(response: Response): string {
  const route = response.req.route as { path?: string } | undefined
  return route?.path ?? 'other'
}

function onClose(this: Response): void {
  const { metrics, model, failure, startedAtMs, span } = measuredOf(this)
  const outcome = failure ?? (this.writableFinished ? OK : 'client_gone')
  metrics.answered(endpointOf(this), model, outcome, performance.now() - startedAtMs)
  if (span.isRecorded) endSpan(span, this, outcome)
}

function endSpan(span: Span, response: Response, outcome: string): void {
  const endpoint = endpointOf(response)
  const { method } = response.req
  span.rename(`${method} ${endpoint}`)
  span.set({
    'http.request.method': method,
    'http.route': endpoint,
    'http.response.status_code': response.statusCode,
    'gateway.request_id': requestIdOf(response),
    'gateway.outcome': outcome,
  })
  if (outcome !== OK && (response.statusCode >= 500 || response.statusCode < 400)) span.fail(outcome)
  span.end()
}
