/**
 * The W3C `traceparent` header, read and written. Pure.
 */

export interface TraceContext {
  traceId: string
  spanId: string
  isSampled: boolean
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/

/** Null for anything else, which the standard has one treat as if nothing had come. */
export function readTraceparent(header: string | undefined): TraceContext | null {
  const parts = header === undefined ? null : TRACEPARENT.exec(header)
  if (!parts || (header!.startsWith('00') && header!.length !== 55)) return null
  const [, traceId = '', spanId = '', flags = ''] = parts
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export function writeTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
}

/** The fields of a log line about a request. */
export function requestFields(
  requestId: string,
  traceparent: string | undefined,
): { requestId: string; traceId?: string } {
  const context = readTraceparent(traceparent)
  return context ? { requestId, traceId: context.traceId } : { requestId }
}
