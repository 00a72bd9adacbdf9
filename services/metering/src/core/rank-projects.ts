/**
 * The projects that have a series of their own among the metrics. All others are summed as `other`. So are the accounts of
 * persons and guests: no series names them. Pure.
 */

import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import type { LedgerSums, OverviewReply } from '@gateway/contracts/metering-api'

/** It bounds the series of each metric for any number of projects. */
export const MOST_SERIES = 50
export const OTHER = 'other'

export interface ProjectSums extends LedgerSums {
  /** Its id, or `other`. */
  project: string
}

/** `accounts`: those that cost most, first. `projects`: those of them that are projects. */
export function rankProjects({ totals, accounts }: OverviewReply, projects: ReadonlySet<string>): ProjectSums[] {
  const own = accounts.filter(({ name }) => projects.has(name)).slice(0, MOST_SERIES)
  const left = (member: keyof LedgerSums) => own.reduce((sum, row) => sum - row[member], totals[member])
  return [
    ...own.map(({ name, ...sums }) => ({ project: `${PROJECT_PREFIX}${name}`, ...sums })),
    { project: OTHER, requests: left('requests'), milliTokens: left('milliTokens'), nanoUsd: left('nanoUsd') },
  ]
}
