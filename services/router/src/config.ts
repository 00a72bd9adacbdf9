/**
 * The one reader of the router's environment. The secrets of backends are read where a config is applied: `backend-registry.ts`.
 */

import { parseEnvironment, variables } from '@gateway/service/environment'
import { processSettings, processVariables } from '@gateway/service/run-service'
import { tracingSettings, tracingVariables } from '@gateway/service/tracing-settings'
import * as z from 'zod'

/** The time that a stopping router gives its open jobs. */
export function readDrainMs(environment: NodeJS.ProcessEnv): number {
  return parseEnvironment(z.object({ DRAIN_MS: variables.DRAIN_MS }), environment).DRAIN_MS
}

const PROCESS_VARIABLES = { ...processVariables, GATEWAY_CONFIG: variables.GATEWAY_CONFIG, ...tracingVariables }

/** The settings that only a router in a process of its own needs. */
export function readProcessSettings(environment: NodeJS.ProcessEnv) {
  const parsed = parseEnvironment(z.object(PROCESS_VARIABLES), environment)
  return { ...processSettings(parsed), configPath: parsed.GATEWAY_CONFIG, tracing: tracingSettings(parsed) }
}
