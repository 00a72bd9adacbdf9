/**
 * Opens the tracing of a process. OpenTelemetry's SDK is loaded only where a collector is named.
 */

import { NO_TRACING, type Tracing, type TracingSettings } from './tracing.ts'

/** Disposing exports the remaining spans. */
export async function openTracing(service: string, settings: TracingSettings): Promise<Tracing> {
  if (settings.endpoint === undefined) return NO_TRACING
  const { openOtlpTracing } = await import('./otlp-tracing.ts')
  return openOtlpTracing(service, settings.endpoint, settings)
}
