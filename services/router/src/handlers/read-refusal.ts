/**
 * Reads a response that serves no request: a refusal with its advice, or JSON in place of a stream. Where its body is long
 * or late, the router does without it.
 */

import type { Exchange, ExchangeResponse } from '../clients/exchange.ts'
import { unpack } from '../clients/unpack.ts'
import { BackendFault } from '../core/backend-fault.ts'
import { readLimitResetMs, readRetryAfterMs, readRetryDelayMs } from '../core/error-response.ts'
import { withoutByteOrderMark } from '../core/plain-response.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { routeOf } from '../backend-registry.ts'
import { identityOf, type BoundJob, type Call } from '../job-context.ts'

const LARGEST_ERROR_BYTES = 64 * 1024

export const noStream = (contentType: string) =>
  new BackendFault('invalid_answer', `the backend answered a stream with ${contentType}`)

/** An error under a 200 says more than that it is no stream. */
export async function readInstead(
  run: BoundJob,
  { exchange, target, echo }: Call,
  contentType: string,
): Promise<BackendFault> {
  const bytes = withoutByteOrderMark(await readShort(exchange))
  try {
    routeOf(target, run.header).dialect.readBackendResponse(run.header.kind, bytes, identityOf(run, target), echo)
  } catch (fault) {
    if (fault instanceof BackendFault && fault.kind === 'error_event') return fault
  }
  return noStream(contentType)
}

/** The bytes of a short body that comes soon; none where it does not. */
function readShort(exchange: Exchange): Promise<Buffer> {
  exchange.expectEnd()
  return exchange.readAll(LARGEST_ERROR_BYTES).catch(() => Buffer.alloc(0))
}

export async function readRefusal(
  { status, headers }: ExchangeResponse,
  exchange: Exchange,
  dialect: Dialect,
): Promise<BackendFault> {
  const bytes = await readShort(exchange)
  const encoding = headers['content-encoding']
  const read = encoding === undefined ? bytes : await unpack(bytes, String(encoding), LARGEST_ERROR_BYTES)
  const text = withoutByteOrderMark(read).toString('utf8')
  const body = dialect.readErrorBody(text)
  const inBody = body === null ? null : readRetryDelayMs(body)
  const retryAfterMs =
    readRetryAfterMs(headers, Date.now()) ?? inBody ?? (status === 429 ? readLimitResetMs(headers) : null)
  return new BackendFault('status', `the backend answered with status ${status}`, {
    status,
    ...(body === null ? {} : { body }),
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
    ...(isError(status) && { own: { status, ...(body === null ? {} : { body: text }), ...retryAdvice(headers) } }),
  })
}

/** HTTP has no status beyond. */
function isError(status: number): boolean {
  return status >= 400 && status < 600
}

/** SDKs of OpenAI and Anthropic obey this header before any status. */
function retryAdvice({ 'x-should-retry': advice }: ExchangeResponse['headers']): { shouldRetry?: boolean } {
  return advice === 'true' || advice === 'false' ? { shouldRetry: advice === 'true' } : {}
}
