/**
 * Measures every request from its first middleware to the end of its response, whatever route, error or departure of
 * the client ends it.
 */

import type { RequestHandler, Response } from 'express'
import { OK, type EdgeMetrics } from './metrics.ts'

export interface Measured {
  readonly startedAtMs: number
  /** The config's model that was asked for, once it is known. */
  model: string
  /** The code of the error that ended the request. */
  failure: string | null
  readonly metrics: EdgeMetrics
}

export function measureRequest(metrics: EdgeMetrics): RequestHandler {
  return (_request, response, next) => {
    const measured: Measured = { startedAtMs: performance.now(), model: '', failure: null, metrics }
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
  const { metrics, model, failure, startedAtMs } = measuredOf(this)
  const outcome = failure ?? (this.writableFinished ? OK : 'client_gone')
  metrics.answered(endpointOf(this), model, outcome, performance.now() - startedAtMs)
}
