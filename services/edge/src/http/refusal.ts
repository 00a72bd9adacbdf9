/**
 * Writes a refusal once for each dialect. Under overload the edge sends thousands of them in a second. They differ only in
 * the request's id and in the time until a retry. Their bytes are those that `sendError` would send.
 */

import type { ErrorLinks } from '@gateway/contracts/error-bodies'
import type { PublicError } from '@gateway/contracts/errors'
import { renderError } from '@gateway/contracts/render-error'
import { type ClientDialect, clientDialects } from '@gateway/contracts/vendors'
import { dialectOf } from '../core/read-path.ts'
import { endAfterBody } from './drop-body.ts'
import type { ErrorSettings } from './send-error.ts'
import { measuredOf, type StepRequest, type StepResponse } from './take-steps.ts'

/** Every request's id has this length. */
const NO_ID = '00000000-0000-0000-0000-000000000000'

interface Written {
  status: number
  /** The text before the request's id, or the complete text where it holds no id. */
  before: string
  after: string | null
  contentLength: string
}

export type SendRefusal = (request: StepRequest, response: StepResponse, retryAfterMs: number) => void

/** The error's code must have the same body for every client of a dialect. */
export function prepareRefusal(
  error: Pick<PublicError, 'code' | 'message'>,
  edge: Pick<ErrorSettings, 'settings' | 'bytes'>,
): SendRefusal {
  const written = Object.fromEntries(
    clientDialects.map((dialect) => [
      dialect,
      write({ ...error, details: { retryAfterMs: 0 } }, edge.settings, dialect),
    ]),
  ) as Record<ClientDialect, Written>
  return (request, response, retryAfterMs) => {
    const dialect = dialectOf(request.url, request.headers)
    const { status, before, after, contentLength } = written[dialect]
    const { requestId } = measuredOf(response)
    response.statusCode = status
    response.setHeader('retry-after-ms', String(retryAfterMs))
    response.setHeader('retry-after', String(Math.ceil(retryAfterMs / 1_000)))
    if (dialect === 'messages') response.setHeader('request-id', requestId)
    response.setHeader('content-type', 'application/json; charset=utf-8')
    response.setHeader('content-length', contentLength)
    endAfterBody(edge, request, response, after === null ? before : before + requestId + after)
  }
}

function write(error: PublicError, links: ErrorLinks, dialect: ClientDialect): Written {
  const { status, body } = renderError(error, links, { dialect, requestId: NO_ID })
  const [before = '', after = null] = body.split(NO_ID)
  return { status, before, after, contentLength: String(Buffer.byteLength(body)) }
}
