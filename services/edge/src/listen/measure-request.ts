/**
 * Measures every request from its first middleware to the end of its response, whatever route, error or departure of
 * the client ends it; where traces are on, as a span as well.
 */

import { NO_SPAN, type Span, type Tracer } from '@gateway/telemetry/tracing'
import { OK, type EdgeMetrics } from '../metrics.ts'
import { requestIdOf } from './name-request.ts'
import type { Step, StepResponse } from './take-steps.ts'

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

export function measureRequest({ metrics, tracer }: { metrics: EdgeMetrics; tracer: Tracer }): Step {
  return (request, response, next) => {
    const span = tracer.isOn
      ? tracer.enter(methodOf(response), {
          kind: 'server',
          parent: request.headers['traceparent'] as string | undefined,
        })
      : NO_SPAN
    const measured: Measured = { startedAtMs: performance.now(), model: '', failure: null, metrics, span }
    response.locals['measured'] = measured
    response.on('close', onClose)
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

const methodOf = (response: StepResponse): string => response.req.method ?? ''

function onClose(this: StepResponse): void {
  const { metrics, model, failure, startedAtMs, span } = measuredOf(this)
  const outcome = failure ?? (this.writableFinished ? OK : 'client_gone')
  metrics.answered(endpointOf(this), model, outcome, performance.now() - startedAtMs)
  if (span.isRecorded) endSpan(span, this, outcome)
}

function endSpan(span: Span, response: StepResponse, outcome: string): void {
  const endpoint = endpointOf(response)
  const method = methodOf(response)
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
