/**
 * Sends an error in the shape that its reader knows, by the dialect of the path and by the headers that identify the client.
 */

import type { GatewayConfig } from '@gateway/contracts/config'
import type { ErrorLinks } from '@gateway/contracts/error-bodies'
import type { PublicError } from '@gateway/contracts/errors'
import { renderError } from '@gateway/contracts/render-error'
import { isAdministration, readsNested } from '../core/error-readers.ts'
import { dialectOf } from '../core/read-path.ts'
import { type DropsBodies, endAfterBody } from './drop-body.ts'
import { measuredOf, type StepRequest, type StepResponse } from './take-steps.ts'

/** The response to an error depends on these besides the request. */
export interface ErrorSettings extends DropsBodies {
  settings: ErrorLinks
  config: { readonly current: Pick<GatewayConfig, 'errors'> }
}

export function sendError(edge: ErrorSettings, error: PublicError, request: StepRequest, response: StepResponse): void {
  const { settings, config } = edge
  const dialect = dialectOf(request.url, request.headers)
  const { requestId } = measuredOf(response)
  const isNested = isAdministration(request.url) || readsNested(request.headers, config.current.errors)
  const { status, headers, body } = renderError(error, settings, { dialect, isNested, requestId })
  response.statusCode = status
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  if (dialect === 'messages') response.setHeader('request-id', requestId)
  response.setHeader('content-type', 'application/json; charset=utf-8')
  response.setHeader('content-length', Buffer.byteLength(body))
  endAfterBody(edge, request, response, body)
}
