/**
 * Metering's settings: the one reader of its environment.
 */

import { healthPort, parseEnvironment, variables } from '@gateway/service/environment'
import { tracingSettings, tracingVariables } from '@gateway/service/tracing-settings'
import * as z from 'zod'

const VARIABLES = {
  PORT: variables.PORT,
  HEALTH_PORT: variables.HEALTH_PORT,
  HEALTH_HOST: variables.HEALTH_HOST,
  LOG_LEVEL: variables.LOG_LEVEL,
  NATS_URL: variables.NATS_URL,
  NATS_STREAM_REPLICAS: variables.NATS_STREAM_REPLICAS,
  REDIS_URL: variables.REDIS_URL,
  DATABASE_URL: variables.DATABASE_URL,
  ...tracingVariables,
}

export function loadSettings(environment: NodeJS.ProcessEnv) {
  const parsed = parseEnvironment(z.object(VARIABLES), environment)
  return {
    healthPort: healthPort(parsed),
    healthHost: parsed.HEALTH_HOST,
    logLevel: parsed.LOG_LEVEL,
    natsUrl: parsed.NATS_URL,
    streamReplicas: parsed.NATS_STREAM_REPLICAS,
    redisUrl: parsed.REDIS_URL,
    databaseUrl: parsed.DATABASE_URL,
    tracing: tracingSettings(parsed),
  }
}

export type Settings = ReturnType<typeof loadSettings>
