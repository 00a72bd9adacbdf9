/**
 * Explains errors: a title and advice for each error response of the gateway, and for a gateway that does not respond.
 */

import { flatErrorBody, quotaExceededBody, rateLimitBody, rateLimitTypes } from '@gateway/contracts/errors'
import * as z from 'zod'
import { formatDate, formatWait } from './format.ts'

export interface Problem {
  /** A short sentence without a full stop: it names the event. */
  title: string
  /** The reader's next step. */
  advice: string
  /** The gateway's stable code, or `UNREACHABLE`. */
  code: string
  /** True where a retry can help. */
  mayPass: boolean
  requestId?: string
  /** The page on which the reader follows `advice`. */
  link?: { label: string; address: string }
}

export const unreachable: Problem = {
  title: 'The gateway cannot be reached',
  advice: 'Check your connection. If it is fine, the gateway may be restarting; this page tries again by itself.',
  code: 'UNREACHABLE',
  mayPass: true,
}

export const unreadable: Problem = {
  title: 'The gateway sent a response that this page does not understand',
  advice: 'Reload the page: it may be older than the gateway.',
  code: 'UNREADABLE',
  mayPass: false,
}

/** The Messages API names the kind of a limit `limit`. Both other dialects have every error in an object. */
const errorBody = z.union([
  z
    .object({
      error: z.object({ ...rateLimitBody.shape.error.shape, type: z.string(), limit: z.enum(rateLimitTypes) }),
    })
    .transform(({ error: { limit, ...error } }) => ({ error: { ...error, type: limit } })),
  rateLimitBody,
  quotaExceededBody,
  flatErrorBody,
  z
    .object({ error: z.looseObject({ message: z.string(), code: z.string(), gateway_code: z.string().optional() }) })
    // A target's refusal has the target's code, and the gateway's beside it.
    .transform(({ error: { message, code, gateway_code, ...rest } }) => ({
      ...rest,
      error: message,
      code: gateway_code ?? code,
    }))
    .pipe(flatErrorBody),
])
type ErrorBody = z.infer<typeof errorBody>

/** `body` is the parsed JSON, or null where there was none. */
export function explainResponse(status: number, body: unknown, requestId?: string): Problem {
  const parsed = errorBody.safeParse(body)
  const problem = parsed.success ? explainBody(parsed.data) : explainStatus(status)
  return requestId ? { ...problem, requestId } : problem
}

const failure = z.object({ message: z.string(), code: z.string() })

/** An error in the middle of a stream, in any of the three dialects. */
export const streamError = z.union([
  z.object({ error: failure }).transform(({ error }) => error),
  z.object({ response: z.object({ error: failure }) }).transform(({ response }) => response.error),
  failure,
])

export function explainBrokenStream(error: z.infer<typeof streamError>): Problem {
  if (error.code === 'INVALID_KEY') return explainCode('INVALID_KEY', error.message)
  return {
    title: 'The response was interrupted',
    advice: `${sentence(error.message)} The page shows the part that arrived, and you pay for that part only.`,
    code: error.code,
    mayPass: true,
  }
}

export const interrupted: Problem = {
  title: 'The connection was lost before the response was complete',
  advice: 'The page shows the part that arrived. Send the message again.',
  code: 'UNREACHABLE',
  mayPass: true,
}

function explainBody(body: ErrorBody): Problem {
  if ('code' in body) return explainCode(body.code, body.error, body)
  const { error } = body
  return error.code === 'quota_exceeded' ? explainQuota(error) : explainLimit(error)
}

function explainQuota(error: z.infer<typeof quotaExceededBody>['error']): Problem {
  return {
    title: "This month's allowance is used up",
    advice: `It is full again on ${formatDate(error.resetDate)}. Until then, contact your operator for a top-up or for overage.`,
    code: error.code,
    mayPass: false,
    link: { label: 'Top up', address: error.topupUrl },
  }
}

const LIMITS: Record<z.infer<typeof rateLimitBody>['error']['type'], string> = {
  plan_limit: 'Your plan does not include this model',
  requests: 'Too many requests in a minute',
  tokens: 'Too many tokens in a minute',
  day: "Today's requests are used up",
  pending: 'Running requests hold the rest of the allowance',
  guest_mint: 'Too many new devices from this address',
}

function explainLimit({ type, message, code, ...error }: z.infer<typeof rateLimitBody>['error']): Problem {
  const title = LIMITS[type]
  if (type === 'plan_limit') {
    return { title, advice: `${sentence(message)} Pick an included model, or change the plan.`, code, mayPass: false }
  }
  return { title, advice: `Wait ${formatWait(error.retry_after_ms)} and send it again.`, code, mayPass: true }
}

function explainCode(code: string, message: string, details?: z.infer<typeof flatErrorBody>): Problem {
  switch (code) {
    case 'NO_AUTH':
    case 'INVALID_TOKEN':
      return { title: 'Your session has ended', advice: 'Sign in again to go on.', code, mayPass: false }
    case 'INVALID_KEY':
      return {
        title: 'You have no active key',
        advice: 'Requests from this page act through your key. Create one on the Keys page.',
        code,
        mayPass: false,
      }
    case 'FORBIDDEN':
      return { title: 'You may not do that', advice: sentence(message), code, mayPass: false }
    case 'NOT_FOUND':
      return { title: 'It is not there, or you may not see it', advice: sentence(message), code, mayPass: false }
    case 'CONFLICT':
      return { title: 'That is not possible now', advice: sentence(message), code, mayPass: false }
    case 'UPSTREAMS_EXHAUSTED':
      return {
        title: 'Every backend of this model failed',
        advice: `${attempts(details?.attempted)}Nothing was charged. Try again in a moment, or pick another model.`,
        code,
        mayPass: true,
      }
    case 'MODEL_NOT_FOUND':
      return { title: 'This model is gone', advice: 'Pick another model from the list.', code, mayPass: false }
    case 'VALIDATION_ERROR':
      return { title: 'The gateway refused the request', advice: sentence(message), code, mayPass: false }
    case 'SERVICE_UNAVAILABLE':
      return { title: 'A part of the gateway is not available', advice: sentence(message), code, mayPass: true }
    default:
      return { title: 'The gateway could not do that', advice: sentence(message), code, mayPass: true }
  }
}

function attempts(attempted: string[] | undefined): string {
  if (!attempted || attempted.length === 0) return ''
  return `Tried: ${[...new Set(attempted)].join(', ')}. `
}

/** The response came from a proxy or a load balancer between this page and the gateway. */
function explainStatus(status: number): Problem {
  return {
    title: `The gateway's address returned ${status}`,
    advice:
      status >= 500
        ? 'A proxy in front of the gateway says that it is not available. Try again in a moment.'
        : 'A proxy in front of the gateway refused the request. Contact your operator.',
    code: `HTTP_${status}`,
    mayPass: status >= 500,
  }
}

function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(capital) ? capital : `${capital}.`
}
