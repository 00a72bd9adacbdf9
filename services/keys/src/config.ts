/**
 * The settings of keys: the one reader of its environment.
 */

import { parseEnvironment, variables } from '@gateway/service/environment'
import { processSettings, processVariables } from '@gateway/service/run-service'
import * as z from 'zod'
import { splitMasterSecret } from './core/master-keys.ts'

/** Several while it is being rotated: each must be good enough on its own. */
const masterSecret = variables.KEYS_MASTER_SECRET.refine(
  (secrets) => splitMasterSecret(secrets).every((secret) => variables.KEYS_MASTER_SECRET.safeParse(secret).success),
  'each of the secrets, separated by commas, must be random and have 32 characters or more',
)

const VARIABLES = {
  ...processVariables,
  GATEWAY_CONFIG: variables.GATEWAY_CONFIG,
  REDIS_URL: variables.REDIS_URL,
  DATABASE_URL: variables.DATABASE_URL,
  KEYS_MASTER_SECRET: masterSecret,
}

export function loadSettings(environment: NodeJS.ProcessEnv) {
  const parsed = parseEnvironment(z.object(VARIABLES), environment)
  return {
    ...processSettings(parsed),
    configPath: parsed.GATEWAY_CONFIG,
    redisUrl: parsed.REDIS_URL,
    databaseUrl: parsed.DATABASE_URL,
    masterSecret: parsed.KEYS_MASTER_SECRET,
  }
}
