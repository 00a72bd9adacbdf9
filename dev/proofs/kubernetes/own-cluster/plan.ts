/**
 * The plan that the command hands to the script in the own world: programs, folders of programs, and one for their logs.
 */

import type { KedaParts } from './keda.ts'

export interface Plan {
  logs: string
  kubernetes: string
  nodePrograms: string
  policyEngine: string
  metricsServer: string
  prometheus: string
  keda: KedaParts | undefined
  /** A regular expression of titles: the proof runs these alone. Empty: it runs all. */
  only: string
}

export function readPlan(): Plan {
  return JSON.parse(process.argv[2]!) as Plan
}
