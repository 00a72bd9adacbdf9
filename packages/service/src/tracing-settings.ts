/** Reads from the environment where traces go, and which of them a service records. */

import type { SamplerName, TracingSettings } from '@gateway/telemetry/tracing'
import { variables } from './environment.ts'

export const tracingVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: variables.OTEL_EXPORTER_OTLP_ENDPOINT,
  OTEL_TRACES_SAMPLER: variables.OTEL_TRACES_SAMPLER,
  OTEL_TRACES_SAMPLER_ARG: variables.OTEL_TRACES_SAMPLER_ARG,
}

export function tracingSettings(parsed: {
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined
  OTEL_TRACES_SAMPLER: SamplerName
  OTEL_TRACES_SAMPLER_ARG: number
}): TracingSettings {
  return {
    endpoint: parsed.OTEL_EXPORTER_OTLP_ENDPOINT,
    sampler: parsed.OTEL_TRACES_SAMPLER,
    ratio: parsed.OTEL_TRACES_SAMPLER_ARG,
  }
}
