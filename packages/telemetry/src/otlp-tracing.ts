/**
 * Traces by OpenTelemetry's SDK, exported over OTLP/HTTP. Loaded only where a collector is named; `OTEL_RESOURCE_ATTRIBUTES`
 * and `OTEL_EXPORTER_OTLP_HEADERS` are read by the SDK itself.
 *
 * A collector that is away costs only the spans that it misses: the queue is bounded.
 */

import { hostname } from 'node:os'
import {
  type Context,
  ROOT_CONTEXT,
  type Span as OtelSpan,
  SpanKind as OtelKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer as OtelTracer,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  type SpanExporter,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import description from '../package.json' with { type: 'json' }
import {
  NO_SPAN,
  readTraceparent,
  type Span,
  type SpanKind,
  type SpanStart,
  type TraceContext,
  type Tracing,
  type TracingSettings,
  writeTraceparent,
} from './tracing.ts'

const EXPORT_EVERY_MS = 1_000
/** At 1,000 requests a second, all of them recorded, a process ends some 4,000 spans a second. */
const MOST_WAITING = 16_384
const MOST_IN_A_BATCH = 2_048
const CLOSE_WITHIN_MS = 2_000
/** OpenTelemetry's `ExportResultCode.SUCCESS`. */
const ACCEPTED = 0

/**
 * `onTrouble` gets an error when the collector takes no spans, and null when it takes them again. Of many failures in
 * a row, it gets only the first.
 */
export function openOtlpTracing(
  service: string,
  endpoint: string,
  settings: TracingSettings,
  onTrouble: (trouble: Error | null) => void,
): Tracing {
  const exporter = reportTrouble(new OTLPTraceExporter({ url: `${endpoint}/v1/traces` }), onTrouble)
  const processor = new BatchSpanProcessor({
    exporter,
    scheduledDelayMillis: EXPORT_EVERY_MS,
    maxQueueSize: MOST_WAITING,
    maxExportBatchSize: MOST_IN_A_BATCH,
  })
  const resource = resourceOf(service)
  const entering = new TracerProvider({ resource, sampler: samplerOf(settings), spanProcessors: [processor] })
  // The sampler is called only for children of recorded spans.
  const following = new TracerProvider({ resource, sampler: new AlwaysOnSampler(), spanProcessors: [processor] })
  const enterer = entering.getTracer('model-gateway', description.version)
  const follower = following.getTracer('model-gateway', description.version)
  return {
    isOn: true,
    enter: (name, start) => begin(enterer, name, start, contextBelow(readTraceparent(start.parent))),
    start(name, start) {
      const parent = readTraceparent(start.parent)
      if (!parent) return NO_SPAN
      if (!parent.isSampled) return unrecorded(start.parent)
      return begin(follower, name, start, contextBelow(parent))
    },
    async [Symbol.asyncDispose]() {
      const late = new Promise((resolve) => setTimeout(resolve, CLOSE_WITHIN_MS).unref())
      await Promise.race([processor.shutdown().catch(() => {}), late])
    },
  }
}

function reportTrouble(exporter: SpanExporter, onTrouble: (trouble: Error | null) => void): SpanExporter {
  let isInTrouble = false
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const code: number = result.code
        const trouble = code === ACCEPTED ? null : (result.error ?? new Error('the spans were not taken'))
        if (isInTrouble !== (trouble !== null)) onTrouble(trouble)
        isInTrouble = trouble !== null
        done(result)
      }),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => exporter.shutdown(),
  }
}

function resourceOf(service: string) {
  const own = resourceFromAttributes({
    'service.name': service,
    'service.namespace': 'model-gateway',
    'service.version': description.version,
    'service.instance.id': `${hostname()}:${process.pid}`,
  })
  return own.merge(detectResources({ detectors: [envDetector] }))
}

function samplerOf({ sampler, ratio }: TracingSettings): Sampler {
  const own = sampler.endsWith('always_on')
    ? new AlwaysOnSampler()
    : sampler.endsWith('always_off')
      ? new AlwaysOffSampler()
      : shareSampler(ratio)
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root: own }) : own
}

/**
 * Draws lots. OpenTelemetry's own sampler by ratio decides by the trace id: a client that sends one could choose to be
 * traced always, or never. All services follow the edge, so none has to come to the same decision again.
 */
function shareSampler(ratio: number): Sampler {
  return {
    shouldSample: () => ({
      decision: Math.random() < ratio ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
    }),
    toString: () => `ShareSampler{${ratio}}`,
  }
}

function contextBelow(parent: TraceContext | null): Context {
  if (!parent) return ROOT_CONTEXT
  const { traceId, spanId, isSampled } = parent
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}

const KINDS: Record<SpanKind, OtelKind> = {
  internal: OtelKind.INTERNAL,
  server: OtelKind.SERVER,
  client: OtelKind.CLIENT,
  producer: OtelKind.PRODUCER,
  consumer: OtelKind.CONSUMER,
}

function begin(tracer: OtelTracer, name: string, start: SpanStart, context: Context): Span {
  const { kind = 'internal', attributes } = start
  const span = tracer.startSpan(name, { kind: KINDS[kind], ...(attributes && { attributes }) }, context)
  const { traceId, spanId, traceFlags } = span.spanContext()
  const isSampled = (traceFlags & TraceFlags.SAMPLED) !== 0
  const traceparent = writeTraceparent({ traceId, spanId, isSampled })
  return span.isRecording() ? recorded(span, traceparent) : unrecorded(traceparent)
}

function recorded(span: OtelSpan, traceparent: string): Span {
  return {
    isRecorded: true,
    traceparent,
    rename: (name) => void span.updateName(name),
    set: (attributes) => void span.setAttributes(attributes),
    event: (name) => void span.addEvent(name),
    fail(type) {
      span.setAttribute('error.type', type)
      span.setStatus({ code: SpanStatusCode.ERROR })
    },
    end: () => span.end(),
  }
}

function unrecorded(traceparent: string | undefined): Span {
  return { ...NO_SPAN, traceparent }
}
