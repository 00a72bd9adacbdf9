/**
 * The usage of one project by day, model, key, person or tag, for the project's members. Keys has authorized the caller.
 */

import { type Input, operations, type Output } from '@gateway/contracts/administration/operations'
import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import { readInput } from '@gateway/contracts/administration/read-input'
import { completeUsageQuestion } from '@gateway/contracts/usage-api'
import { toPlanUnit } from '@gateway/pricing/charge'
import type { MeteringDatabase } from '../db/tables.ts'
import { type ProjectFigures, type ProjectUsageQuery, readProjectUsage } from '../db/project-usage.ts'

type ShownUsage = Output<'projectViews.usage'>
type Figures = NonNullable<ShownUsage['totals']>

interface UsageContext {
  database: MeteringDatabase
  now(): number
}

export async function showProjectUsage(
  { database, now }: UsageContext,
  given: Record<string, unknown>,
): Promise<ShownUsage> {
  const input = readInput(operations['projectViews.usage'], given) as unknown as Input<'projectViews.usage'>
  const { project_id: project, from, to, group_by, limit } = input
  // Refuses days out of order, and too many.
  completeUsageQuestion({ from, to, group_by: 'day' }, now())
  const account = project.slice(PROJECT_PREFIX.length)
  const { rows, totals } = await readProjectUsage(database, { account, from, to, group_by, atMost: limit + 1 })
  return {
    object: 'project.usage',
    from,
    to,
    group_by,
    data: rows.slice(0, limit).map(({ name, ...figures }) => ({ name: nameOf(group_by, name), ...view(figures) })),
    totals: totals && view(totals),
    has_more: rows.length > limit,
  }
}

function nameOf(groupBy: ProjectUsageQuery['group_by'], name: string): string | null {
  if (name === '') return null
  return groupBy === 'api_key' ? `key_${name}` : name
}

function view({ promptTokens, completionTokens, milliTokens, nanoUsd, requests }: ProjectFigures): Figures {
  return {
    requests,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    allowance_tokens: toPlanUnit(milliTokens, 'tokens'),
    cost_usd: toPlanUnit(nanoUsd, 'usd'),
  }
}
