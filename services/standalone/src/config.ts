/**
 * The settings of `npm start`: the one reader of its environment. Everything has a default.
 */

import { resolve } from 'node:path'
import { loadEdgeSettings, type EdgeSettings } from '@gateway/edge/start'
import { addresses, healthPort, parseEnvironment, variables } from '@gateway/service/environment'
import type { LogLevel } from '@gateway/telemetry/logger'
import { tracingSettings, tracingVariables } from '@gateway/service/tracing-settings'
import type { TracingSettings } from '@gateway/telemetry/tracing'
import { UsageError } from '@gateway/service/report-fatal'
import * as z from 'zod'

export interface StandaloneSettings {
  edge: EdgeSettings
  /** The address that clients use: the audience of sign-in tokens. */
  publicBaseUrl: string
  consoleUrl: string
  healthPort: number
  logLevel: LogLevel
  configPath: string | undefined
  dataDir: string
  /** Null: one is made and kept in the data folder. */
  masterSecret: string | null
  tracing: TracingSettings
  smtpUrl: string | undefined
  /** For router and metering, which alone resolve the config's `${NAME}`. */
  environment: NodeJS.ProcessEnv
}

const VARIABLES = {
  HOST: variables.HOST,
  PORT: variables.PORT,
  PUBLIC_BASE_URL: variables.PUBLIC_BASE_URL,
  CONSOLE_URL: variables.CONSOLE_URL,
  HEALTH_PORT: variables.HEALTH_PORT,
  // A person reads this terminal, and success needs no line.
  LOG_LEVEL: variables.LOG_LEVEL.unwrap().default('warn'),
  GATEWAY_CONFIG: variables.GATEWAY_CONFIG,
  DATA_DIR: variables.DATA_DIR,
  KEYS_MASTER_SECRET: variables.KEYS_MASTER_SECRET.optional(),
  SMTP_URL: variables.SMTP_URL,
  ...tracingVariables,
}

/** `backend`: the address after `--backend`, whose models get a config file of their own. */
export function loadSettings(environment: NodeJS.ProcessEnv, backend: string | null = null): StandaloneSettings {
  const parsed = parseEnvironment(z.object(VARIABLES), environment)
  if (backend !== null && parsed.GATEWAY_CONFIG !== undefined)
    throw new UsageError('GATEWAY_CONFIG names the backends already; unset it, or leave --backend out')
  const { publicBaseUrl, consoleUrl } = addresses(parsed)
  return {
    edge: loadEdgeSettings(environment),
    publicBaseUrl,
    consoleUrl,
    healthPort: healthPort(parsed),
    logLevel: parsed.LOG_LEVEL,
    configPath: parsed.GATEWAY_CONFIG,
    dataDir: resolve(parsed.DATA_DIR),
    masterSecret: parsed.KEYS_MASTER_SECRET ?? null,
    smtpUrl: parsed.SMTP_URL,
    tracing: tracingSettings(parsed),
    environment,
  }
}
