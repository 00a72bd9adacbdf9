/**
 * Usage over time, from the ledger's sums. Totals are added up in the ledger's whole numbers, so they are exact, and only then
 * converted to the units that people read.
 */

import type { UsageFigures, UsageGroup } from '@gateway/contracts/metering-api'
import type { UsageRecord, UsageTotals, UsageQuestion } from '@gateway/contracts/usage-api'
import { toPlanUnit } from './charge.ts'

export function toUsageRecord(question: UsageQuestion, groups: readonly UsageGroup[]): UsageRecord {
  return {
    object: 'usage',
    ...question,
    data: groups.map(({ name, ...figures }) => ({ [question.group_by]: name, ...toUsageTotals(figures) })),
    totals: toUsageTotals(groups.reduce(sum, NOTHING)),
  }
}

const NOTHING: UsageFigures = {
  requests: 0,
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  milliTokens: 0,
  nanoUsd: 0,
}

function sum(a: UsageFigures, b: UsageFigures): UsageFigures {
  return {
    requests: a.requests + b.requests,
    promptTokens: a.promptTokens + b.promptTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    milliTokens: a.milliTokens + b.milliTokens,
    nanoUsd: a.nanoUsd + b.nanoUsd,
  }
}

/** In the units of the record. */
export function toUsageTotals(figures: UsageFigures): UsageTotals {
  return {
    requests: figures.requests,
    prompt_tokens: figures.promptTokens,
    completion_tokens: figures.completionTokens,
    cached_tokens: figures.cachedTokens,
    total_tokens: figures.promptTokens + figures.completionTokens,
    allowance_tokens: toPlanUnit(figures.milliTokens, 'tokens'),
    cost_usd: toPlanUnit(figures.nanoUsd, 'usd'),
  }
}
