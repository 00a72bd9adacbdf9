/**
 * The facts of projects for the admission store. Read them after the accounts' versions: they are then as new as those, or newer,
 * and a later version is filled again.
 */

import type { ProjectFacts } from '@gateway/admission/port'
import type { PlanUnit } from '@gateway/contracts/usage'
import { projectFacts } from '../core/project-facts.ts'
import { readModelLimits, readProjectLimits } from './project-limits.ts'
import type { KeysDatabase } from './tables.ts'

/** `unit`: of the plan that the caller writes beside. Each given account has facts. */
export async function readProjectFacts(
  database: KeysDatabase,
  projects: readonly { account: string; unit: PlanUnit }[],
): Promise<Map<string, ProjectFacts>> {
  if (projects.length === 0) return new Map()
  const accounts = projects.map(({ account }) => account)
  const [limits, models] = await Promise.all([
    readProjectLimits(database, accounts),
    readModelLimits(database, accounts),
  ])
  return new Map(
    projects.map(({ account, unit }) => [account, projectFacts(limits.get(account)!, models.get(account)!, unit)]),
  )
}
