/**
 * The settings of keys: the one reader of its environment.
 */

import { healthPort, parseEnvironment, variables } from '@gateway/service/environment'
import * as z from 'zod'
import { splitMasterSecret } from './core/master-keys.ts'

/** Several while it is being rotated: each must be good enough on its own. */
const masterSecret = variables.KEYS_MASTER_SECRET.refine(
  (secrets) => splitMasterSecret(secrets).every((secret) => variables.KEYS_MASTER_SECRET.safeParse(secret).success),
  'each of the secrets, separated by commas, must be random and have 32 characters or more',
)

const VARIABLES = {
  PORT: variables.PORT,
  HEALTH_PORT: variables.HEALTH_PORT,
  HEALTH_HOST: variables.HEALTH_HOST,
  LOG_LEVEL: variables.LOG_LEVEL,
  GATEWAY_CONFIG: variables.GATEWAY_CONFIG,
  NATS_URL: variables.NATS_URL,
  NATS_STREAM_REPLICAS: variables.NATS_STREAM_REPLICAS,
  REDIS_URL: variables.REDIS_URL,
  DATABASE_URL: variables.DATABASE_URL,
  KEYS_MASTER_SECRET: masterSecret,
}

export function loadSettings(environment: NodeJS.ProcessEnv) {
  const parsed = parseEnvironment(z.object(VARIABLES), environment)
  return {
    healthPort: healthPort(parsed),
    healthHost: parsed.HEALTH_HOST,
    logLevel: parsed.LOG_LEVEL,
    configPath: parsed.GATEWAY_CONFIG,
    natsUrl: parsed.NATS_URL,
    streamReplicas: parsed.NATS_STREAM_REPLICAS,
    redisUrl: parsed.REDIS_URL,
    databaseUrl: parsed.DATABASE_URL,
    masterSecret: parsed.KEYS_MASTER_SECRET,
  }
}

export type Settings = ReturnType<typeof loadSettings>
