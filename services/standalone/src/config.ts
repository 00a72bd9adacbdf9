/**
 * The settings of `npm start`: the one reader of its environment. Everything has a default.
 */

import { resolve } from 'node:path'
import { loadEdgeSettings, type EdgeSettings } from '@gateway/edge/config'
import { healthPort, parseEnvironment, variables } from '@gateway/service/environment'
import type { LogLevel } from '@gateway/service/logger'
import * as z from 'zod'

export interface StandaloneSettings {
  edge: EdgeSettings
  healthPort: number
  logLevel: LogLevel
  configPath: string | undefined
  dataDir: string
  /** Null: one is made and kept in the data folder. */
  masterSecret: string | null
  /** The router's, which alone resolves the config's `${NAME}`. */
  environment: NodeJS.ProcessEnv
}

const VARIABLES = {
  PORT: variables.PORT,
  HEALTH_PORT: variables.HEALTH_PORT,
  // A person reads this terminal: what goes well needs no line.
  LOG_LEVEL: variables.LOG_LEVEL.unwrap().default('warn'),
  GATEWAY_CONFIG: variables.GATEWAY_CONFIG,
  DATA_DIR: variables.DATA_DIR,
  KEYS_MASTER_SECRET: variables.KEYS_MASTER_SECRET.optional(),
}

export function loadSettings(environment: NodeJS.ProcessEnv): StandaloneSettings {
  const parsed = parseEnvironment(z.object(VARIABLES), environment)
  return {
    edge: loadEdgeSettings(environment),
    healthPort: healthPort(parsed),
    logLevel: parsed.LOG_LEVEL,
    configPath: parsed.GATEWAY_CONFIG,
    dataDir: resolve(parsed.DATA_DIR),
    masterSecret: parsed.KEYS_MASTER_SECRET ?? null,
    environment,
  }
}
