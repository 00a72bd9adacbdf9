/**
 * How long a backend asks to be left alone: `retry-after-ms`, or `retry-after` in seconds or as a date.
 */

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

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
