/**
 * Gives a process something to load before its own code.
 */

import type { ProcessPlan } from '@gateway/cluster/supervise'

export function withPreload(plan: ProcessPlan, file: string, environment: NodeJS.ProcessEnv): ProcessPlan {
  const options = `${plan.environment['NODE_OPTIONS'] ?? ''} --import=${file}`.trim()
  return { ...plan, environment: { ...plan.environment, ...environment, NODE_OPTIONS: options } }
}
