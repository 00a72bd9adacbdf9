/**
 * Lets pages of the configured origins call the API from a browser, and read every header that the API answers with.
 * Without origins, nothing is added and browsers keep other pages out.
 */

import cors from 'cors'
import { REPLAYED_HEADER } from '@gateway/contracts/idempotency'
import type { Step } from './take-steps.ts'

const EXPOSED_HEADERS = [
  'x-request-id',
  'x-should-retry',
  'retry-after',
  'retry-after-ms',
  'x-svc-upstream',
  'x-svc-dropped-params',
  'x-svc-quota-plan',
  'x-svc-quota-used',
  'x-svc-quota-limit',
  'x-svc-quota-reset',
  'x-svc-smart-route',
  'x-svc-warning',
  REPLAYED_HEADER,
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
/** Browsers ask again after this long; two hours is the most that any of them honours. */
const PREFLIGHT_MAX_AGE_S = 7_200

/** Credentials are bearer tokens that a page sends itself, so cookies are never involved. */
export function allowBrowsers(origins: string[]): Step[] {
  if (origins.length === 0) return []
  const allow = cors({
    origin: origins.includes('*') ? '*' : origins,
    methods: ['GET', 'POST'],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_MAX_AGE_S,
  })
  return [allow]
}
