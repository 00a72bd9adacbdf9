/**
 * Lets pages of the configured origins call the API from a browser, and read every header of the API's responses. The
 * response to a preflight of any other origin names the variable that would let it in. Browsers keep such a page out.
 */

import cors from 'cors'
import { REPLAYED_HEADER } from '@gateway/contracts/idempotency'
import { RECEIPT_HEADER } from '@gateway/contracts/receipts'
import { GatewayError } from '@gateway/contracts/errors'
import type { Step } from './take-steps.ts'

const EXPOSED_HEADERS = [
  'x-request-id',
  'x-should-retry',
  'retry-after',
  'retry-after-ms',
  'x-svc-upstream',
  'x-svc-dropped-params',
  'x-svc-token-count',
  'x-svc-quota-plan',
  'x-svc-quota-used',
  'x-svc-quota-limit',
  'x-svc-quota-reset',
  'x-svc-smart-route',
  'x-svc-warning',
  REPLAYED_HEADER,
  RECEIPT_HEADER,
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-tokens',
  'request-id',
  'anthropic-ratelimit-requests-limit',
  'anthropic-ratelimit-requests-remaining',
  'anthropic-ratelimit-requests-reset',
  'anthropic-ratelimit-tokens-limit',
  'anthropic-ratelimit-tokens-remaining',
  'anthropic-ratelimit-tokens-reset',
  'deprecation',
  'sunset',
  'link',
  'etag',
]
/** Browsers send a preflight again after this long; two hours is the most that any of them honours. */
const PREFLIGHT_MAX_AGE_S = 7_200

/**
 * A browser sends no preflight for a WebSocket, and keeps no message from its page. So pages of other origins may open none.
 * Programs that name the gateway's own address as their origin are no pages.
 */
export function isPageAllowed(
  origins: readonly string[],
  { origin, host }: { origin?: string | undefined; host?: string | undefined },
): boolean {
  return origin === undefined || origins.includes('*') || origins.includes(origin) || URL.parse(origin)?.host === host
}

/** Credentials are bearer tokens that a page sends itself, so cookies are never involved. */
export function allowBrowsers(origins: string[]): Step[] {
  const isOpen = origins.includes('*')
  const isAllowed = (origin: string): boolean => isOpen || origins.includes(origin)
  const refuse: Step = ({ method, headers }, _response, next) => {
    const { origin } = headers
    const isPreflight = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
    if (!isPreflight || origin === undefined || isAllowed(origin)) return next()
    // The page itself reads nothing of it, but its developer does.
    throw new GatewayError(
      'FORBIDDEN',
      `Pages of ${origin} may not call this gateway; CORS_ORIGINS names those that may`,
    )
  }
  if (origins.length === 0) return [refuse]
  const allow = cors({
    origin: isOpen ? '*' : origins,
    methods: ['GET', 'POST', 'PATCH', 'DELETE'],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_MAX_AGE_S,
  })
  return [refuse, allow]
}
