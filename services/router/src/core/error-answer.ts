/**
 * Reads a backend's error: the JSON of its body, and how long the backend asks to be left alone.
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
  const milliseconds = Number(single(headers['retry-after-ms']) ?? NaN)
  if (milliseconds >= 0) return Math.ceil(milliseconds)
  const text = single(headers['retry-after'])
  if (text === undefined) return null
  const seconds = Number(text)
  if (text.trim() !== '' && seconds >= 0) return Math.ceil(seconds * 1_000)
  const date = Date.parse(text)
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs)
}

/** `google.rpc.RetryInfo`, whose `retryDelay` is `34.07s`: ai.google.dev/gemini-api/docs/rate-limits, November 2026. */
export function readRetryDelayMs(body: string): number | null {
  const { details } = membersOf(readErrorBody(body)?.error)
  if (!Array.isArray(details)) return null
  const delays = details.filter(isObject).map(({ retryDelay }) => retryDelay)
  const seconds = Number(/^(\d+(?:\.\d+)?)s$/.exec(delays.find(isText) ?? '')?.[1] ?? NaN)
  return Number.isNaN(seconds) ? null : Math.ceil(seconds * 1_000)
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
