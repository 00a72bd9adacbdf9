/**
 * The one reader of the router's environment. The secrets of backends are read where a config is applied: `fleet.ts`.
 */

import { healthPort, parseEnvironment, variables } from '@gateway/service/environment'
import { tracingSettings, tracingVariables } from '@gateway/service/tracing-settings'
import type { TracingSettings } from '@gateway/telemetry/tracing'
import * as z from 'zod'

export interface RouterSettings {
  /** How long a stopping router finishes open jobs. */
  drainMs: number
}

export function readSettings(environment: NodeJS.ProcessEnv): RouterSettings {
  const { DRAIN_MS } = parseEnvironment(z.object({ DRAIN_MS: variables.DRAIN_MS }), environment)
  return { drainMs: DRAIN_MS }
}

export interface ProcessSettings {
  natsUrl: string
  streamReplicas: number
  configPath: string | undefined
  logLevel: z.infer<typeof variables.LOG_LEVEL>
  healthPort: number
  healthHost: string
  tracing: TracingSettings
}

/** What only a router in a process of its own needs. */
export function readProcessSettings(environment: NodeJS.ProcessEnv): ProcessSettings {
  const { NATS_URL, NATS_STREAM_REPLICAS, GATEWAY_CONFIG, LOG_LEVEL, PORT, HEALTH_PORT, HEALTH_HOST } = variables
  const own = { NATS_URL, NATS_STREAM_REPLICAS, GATEWAY_CONFIG, LOG_LEVEL, PORT, HEALTH_PORT, HEALTH_HOST }
  const read = parseEnvironment(z.object({ ...own, ...tracingVariables }), environment)
  return {
    natsUrl: read.NATS_URL,
    streamReplicas: read.NATS_STREAM_REPLICAS,
    configPath: read.GATEWAY_CONFIG,
    logLevel: read.LOG_LEVEL,
    healthPort: healthPort(read),
    healthHost: read.HEALTH_HOST,
    tracing: tracingSettings(read),
  }
}
