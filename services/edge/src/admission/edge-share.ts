/**
 * One edge's share of the limits, where edges decide without the shared store. Each of `edgesMax` edges admits its share of a
 * rate, so all of them together stay within it. Limits of a month stay whole: the ledger's totals are those of all edges.
 */

import type { KeyLimits, PlanLimits, ProjectFacts } from '@gateway/admission/port'

export function shareOfPlan(limits: PlanLimits, edgesMax: number): PlanLimits {
  return {
    requestsPerMinute: shareOf(limits.requestsPerMinute, edgesMax),
    tokensPerMinute: shareOf(limits.tokensPerMinute, edgesMax),
    requestsPerDay: shareOrNone(limits.requestsPerDay, edgesMax),
    allowance: limits.allowance,
  }
}

export function shareOfKey(limits: KeyLimits, edgesMax: number): KeyLimits {
  return {
    ...limits,
    requestsPerMinute: shareOrNone(limits.requestsPerMinute, edgesMax),
    tokensPerMinute: shareOrNone(limits.tokensPerMinute, edgesMax),
  }
}

export function shareOfProject(project: ProjectFacts, edgesMax: number): ProjectFacts {
  return {
    ...project,
    modelLimits: project.modelLimits.map(({ model, ...limits }) => ({
      model,
      requestsPerMinute: shareOrNone(limits.requestsPerMinute, edgesMax),
      tokensPerMinute: shareOrNone(limits.tokensPerMinute, edgesMax),
      requestsPerDay: shareOrNone(limits.requestsPerDay, edgesMax),
    })),
  }
}

/** At least one: a limit below the number of edges would otherwise refuse everything. */
function shareOf(limit: number, edgesMax: number): number {
  return Math.max(1, Math.floor(limit / edgesMax))
}

function shareOrNone(limit: number | null, edgesMax: number): number | null {
  return limit === null ? null : shareOf(limit, edgesMax)
}
