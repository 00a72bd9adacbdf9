/**
 * What the command hands to the script in the own world: folders of programs, and one for their logs.
 */

export interface Plan {
  logs: string
  kubernetes: string
  nodePrograms: string
}

export function readPlan(): Plan {
  return JSON.parse(process.argv[2]!) as Plan
}
