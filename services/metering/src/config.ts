/**
 * Metering's settings: the one reader of its environment.
 */

import { parseEnvironment, variables } from '@gateway/service/environment'
import { processSettings, processVariables } from '@gateway/service/run-service'
import { tracingSettings, tracingVariables } from '@gateway/service/tracing-settings'
import * as z from 'zod'

const VARIABLES = {
  ...processVariables,
  GATEWAY_CONFIG: variables.GATEWAY_CONFIG,
  SMTP_URL: variables.SMTP_URL,
  REDIS_URL: variables.REDIS_URL,
  DATABASE_URL: variables.DATABASE_URL,
  ...tracingVariables,
}

export function loadSettings(environment: NodeJS.ProcessEnv) {
  const parsed = parseEnvironment(z.object(VARIABLES), environment)
  return {
    ...processSettings(parsed),
    configPath: parsed.GATEWAY_CONFIG,
    /** Of the `${NAME}`s in webhooks. */
    environment,
    smtpUrl: parsed.SMTP_URL,
    redisUrl: parsed.REDIS_URL,
    databaseUrl: parsed.DATABASE_URL,
    tracing: tracingSettings(parsed),
  }
}
