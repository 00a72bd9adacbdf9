/**
 * Traces, as services see them: a span for each part of a request's way, its parent named and not guessed.
 *
 * Without `OTEL_EXPORTER_OTLP_ENDPOINT` nothing is loaded and every span is {@link NO_SPAN}. Where a request enters,
 * the sampler of `OTEL_TRACES_SAMPLER` decides on its trace. Every later span follows its parent, so that a trace is
 * whole or absent. Attributes never hold a prompt or a response.
 */

import type { JobKind } from '@gateway/contracts/job'
import type { TokenUsage } from '@gateway/contracts/usage'

export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer'
export type Attributes = Record<string, string | number | boolean | string[] | undefined>

export interface SpanStart {
  kind?: SpanKind
  /** `traceparent` of the span that this one is part of. */
  parent: string | undefined
  attributes?: Attributes
}

export interface Span {
  /** False when the span drops its attributes, so callers need not build them. */
  readonly isRecorded: boolean
  /** To send along with the work of this span; undefined without tracing. */
  readonly traceparent: string | undefined
  rename(name: string): void
  set(attributes: Attributes): void
  event(name: string): void
  /** `type`: a word of ours or a code, never a message that may quote something. */
  fail(type: string): void
  end(): void
}

export interface Tracer {
  readonly isOn: boolean
  /** Where a request enters; the parent is its client's. */
  enter(name: string, start: SpanStart): Span
  /** Recorded when its parent is. */
  start(name: string, start: SpanStart): Span
}

export interface Tracing extends Tracer, AsyncDisposable {}

export const NO_SPAN: Span = {
  isRecorded: false,
  traceparent: undefined,
  rename() {},
  set() {},
  event() {},
  fail() {},
  end() {},
}

export const NO_TRACING: Tracing = {
  isOn: false,
  enter: () => NO_SPAN,
  start: () => NO_SPAN,
  async [Symbol.asyncDispose]() {},
}

/** A part of the work of `span`, in the same process. */
export function partOf(tracer: Tracer, span: Span, name: string): Span {
  return span.isRecorded ? tracer.start(name, { parent: span.traceparent }) : NO_SPAN
}

export interface TracingSettings {
  /** Where the collector is; none: no traces. */
  endpoint: string | undefined
  sampler: SamplerName
  /** The ratio of the ratio samplers. */
  ratio: number
}

export const samplerNames = [
  ...(['always_on', 'always_off', 'traceidratio'] as const),
  ...(['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'] as const),
] as const
export type SamplerName = (typeof samplerNames)[number]

/**
 * The names of a request to a model in OpenTelemetry's semantic conventions for generative AI. Names and figures only.
 */
const OPERATIONS: Record<JobKind, string> = { chat: 'chat', embeddings: 'embeddings', images: 'generate_content' }

export function operationOf(kind: JobKind): string {
  return OPERATIONS[kind]
}

export function requestAttributes(kind: JobKind, model: string): Attributes {
  return { 'gen_ai.operation.name': operationOf(kind), 'gen_ai.request.model': model }
}

export function usageAttributes(usage: TokenUsage): Attributes {
  return {
    'gen_ai.usage.input_tokens': usage.promptTokens,
    'gen_ai.usage.output_tokens': usage.completionTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cachedTokens,
    'gateway.usage.estimated': usage.estimated,
  }
}

/** The W3C `traceparent` header. */
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
