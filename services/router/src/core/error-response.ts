/**
 * Reads a backend's error: the JSON of its body, and the time for which the backend wants no further request.
 */

import { isObject, membersOf, type JsonObject } from '@gateway/contracts/json'

/** Gemini and some proxies put the error into a list. Null where the text holds no object. */
export function readErrorBody(text: string): JsonObject | null {
  if (!/^\s*[[{]/.test(text)) return null
  try {
    const value: unknown = JSON.parse(text)
    const said: unknown = Array.isArray(value) ? value[0] : value
    return isObject(said) ? said : null
  } catch {
    return null
  }
}

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date. Google writes it into the body instead. */
export function readRetryAfterMs(headers: Record<string, string | string[] | undefined>, nowMs: number): number | null {
  const milliseconds = decimal(single(headers['retry-after-ms']))
  if (milliseconds !== null) return boundedMs(milliseconds)
  const text = single(headers['retry-after']) ?? ''
  const seconds = decimal(text)
  if (seconds !== null) return boundedMs(seconds * 1_000)
  const date = DATE.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(date) ? null : boundedMs(Math.max(0, date - nowMs))
}

/** A longer time is for ever, and digits without end are no number that JSON or a header can hold. */
const LONGEST_MS = 366 * 24 * 3_600_000

function boundedMs(ms: number): number {
  return Math.min(Math.ceil(ms), LONGEST_MS)
}

/** The engine finds dates in `-5`, and numbers in `0x20`. */
const DATE = /^(?:[A-Za-z]{3}|\d{4}-)/
const DECIMAL = /^\s*\d+(?:\.\d+)?\s*$/

function decimal(text: string | undefined): number | null {
  return text !== undefined && DECIMAL.test(text) ? Number(text) : null
}

/**
 * The time until OpenAI's limits are full again, of those that are used up: `x-ratelimit-reset-tokens: 6m0s`
 * (platform.openai.com/docs/guides/rate-limits, November 2026; Groq writes the same). Vendors that say `retry-after` mean that.
 */
export function readLimitResetMs(headers: Record<string, string | string[] | undefined>): number | null {
  const waits = LIMITS.filter((limit) => single(headers[`x-ratelimit-remaining-${limit}`]) === '0').flatMap((limit) => {
    const wait = durationMs(single(headers[`x-ratelimit-reset-${limit}`]) ?? '')
    return wait === null ? [] : [wait]
  })
  return waits.length === 0 ? null : Math.max(...waits)
}

const LIMITS = ['requests', 'tokens']
const DURATION = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?$/

function durationMs(text: string): number | null {
  const parts = DURATION.exec(text)?.slice(1)
  if (!parts?.some((part) => part !== undefined)) return null
  const [days = 0, hours = 0, minutes = 0, seconds = 0, ms = 0] = parts.map((part) => Number(part ?? 0))
  return boundedMs((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000 + ms)
}

/** `google.rpc.RetryInfo`, whose `retryDelay` is `34.07s`: ai.google.dev/gemini-api/docs/rate-limits, November 2026. */
export function readRetryDelayMs(body: string): number | null {
  const { details } = membersOf(readErrorBody(body)?.error)
  if (!Array.isArray(details)) return null
  const delays = details.filter(isObject).map(({ retryDelay }) => retryDelay)
  const seconds = Number(/^(\d+(?:\.\d+)?)s$/.exec(delays.find(isText) ?? '')?.[1] ?? NaN)
  return Number.isNaN(seconds) ? null : boundedMs(seconds * 1_000)
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
