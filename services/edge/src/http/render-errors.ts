/**
 * The one place that sends errors over HTTP. Any error but a `GatewayError` is a defect of ours: it is logged in full, and
 * the client gets INTERNAL_ERROR. Errors after the first byte of a response are the response writer's business and do not
 * come here.
 */

import type { ErrorRequestHandler, RequestHandler } from 'express'
import { ERROR_STATUS, GatewayError } from '@gateway/contracts/errors'
import type { Logger } from '@gateway/telemetry/logger'
import { requestFields } from '@gateway/telemetry/tracing'
import { hintFor } from '../core/read-path.ts'
import { reservationOf } from './memory-budget.ts'
import { type ErrorSettings, sendError } from './send-error.ts'
import { type Fail, measuredOf, type StepRequest, type StepResponse } from './take-steps.ts'

/** The replacement of a path that another service has; null for any other path. */
type InsteadOf = (path: string) => string | null

/** The error names the path that a client with a wrong base URL meant. */
export function notFound(paths: readonly string[], insteadOf: InsteadOf = () => null): RequestHandler {
  const known = paths.filter((path) => !/[*{:]/.test(path))
  return (request) => {
    refuseAbsent(request, insteadOf)
    throw new GatewayError('NOT_FOUND', `There is nothing at ${request.path}${hintFor(request.path, known)}`)
  }
}

export function methodNotAllowed(allowed: string[], insteadOf: InsteadOf): RequestHandler {
  const allow = allowed.join(', ')
  return (request) => {
    refuseAbsent(request, insteadOf)
    throw new GatewayError('METHOD_NOT_ALLOWED', `${request.path} answers ${allow}`, { allow })
  }
}

function refuseAbsent({ method, path }: { method: string; path: string }, insteadOf: InsteadOf): void {
  const instead = insteadOf(path)
  if (instead !== null) throw new GatewayError('NOT_FOUND', `${method} ${path} is not served here: ${instead}`)
}

/** For the direct path, and for Express, which knows it by its fourth parameter. */
export function renderErrors(edge: ErrorSettings & { logger: Logger }): Fail & ErrorRequestHandler {
  return (thrown: unknown, request: StepRequest, response: StepResponse, _next?: unknown) => {
    const error = thrown instanceof GatewayError ? thrown : internal(thrown)
    const measured = measuredOf(response)
    measured.failure = error.code
    // An error that says when to come back is a refusal on purpose, and is counted: a line for each would add to the load.
    if (ERROR_STATUS[error.code] >= 500 && error.details.retryAfterMs === undefined) {
      const fields = requestFields(measured.requestId, measured.span.traceparent)
      edge.logger.error({ err: error, ...fields, path: request.url?.split('?', 1)[0] }, 'a request failed')
    }
    if (response.headersSent) {
      response.destroy()
      return
    }
    const waitMs = ERROR_STATUS[error.code] < 500 ? (reservationOf(response)?.cpu.chargeRefusal() ?? 0) : 0
    if (waitMs > 0) setTimeout(() => response.destroyed || sendError(edge, error, request, response), waitMs)
    else sendError(edge, error, request, response)
  }
}

function internal(cause: unknown): GatewayError {
  if (cause instanceof URIError) return new GatewayError('NOT_FOUND', 'The path is not valid', {}, { cause })
  return new GatewayError('INTERNAL_ERROR', 'Something went wrong in the gateway', {}, { cause })
}
