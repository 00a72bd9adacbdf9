/**
 * The measures of usage that the page shows: each one's name, figure and format.
 */

import type { PlanUnit } from '@gateway/contracts/usage'
import type { UsageTotals } from '@gateway/contracts/usage-api'
import type { Column } from '../../parts/wide-table.tsx'
import { formatAmount, formatCompact, formatCount, formatUsd } from '../../core/format.ts'

export interface Measure {
  value: 'charge' | 'cost' | 'tokens' | 'requests'
  label: string
  figure: (row: UsageTotals) => number
  format: (value: number) => string
  /** For places where the exact figure stands nearby. */
  short: (value: number) => string
}

const CHARGE: Measure = {
  value: 'charge',
  label: 'Allowance',
  figure: (row) => row.allowance_tokens,
  format: (value) => formatAmount(value, 'tokens'),
  short: formatCompact,
}
const COST: Measure = {
  value: 'cost',
  label: 'Cost',
  figure: (row) => row.cost_usd,
  format: formatUsd,
  short: formatUsd,
}
const TOKENS: Measure = {
  value: 'tokens',
  label: 'Tokens',
  figure: (row) => row.total_tokens,
  format: formatCount,
  short: formatCompact,
}
const REQUESTS: Measure = {
  value: 'requests',
  label: 'Requests',
  figure: (row) => row.requests,
  format: formatCount,
  short: formatCompact,
}

/** The charged measures come first: allowance, dollars, or both after a change between plans of either kind. */
export function measuresFor(totals: UsageTotals, unit: PlanUnit | undefined): [Measure, ...Measure[]] {
  const inDollars = totals.cost_usd > 0 || unit === 'usd'
  const inAllowance = totals.allowance_tokens > 0 || !inDollars
  const charged: [Measure, ...Measure[]] = inDollars ? (inAllowance ? [COST, CHARGE] : [COST]) : [CHARGE]
  return [...charged, TOKENS, REQUESTS]
}

export function columnOf({ label, figure, format }: Measure): Column<UsageTotals> {
  return { title: label, cell: (row) => format(figure(row)), isFigure: true }
}
