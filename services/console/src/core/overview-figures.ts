/**
 * Figures of an overview as people read them: the labels of its buckets, errors in all, spend in the units that occur, and latencies.
 */

import type { Overview, OverviewWindow } from '@gateway/contracts/administration/overview'
import { formatAmount, formatCount, formatDuration, formatShortDate, formatTime, formatUsd } from './format.ts'

export const WINDOWS = [
  { value: 'hour', label: 'Hour' },
  { value: 'day', label: 'Day' },
  { value: 'month', label: 'Month' },
] as const satisfies { value: OverviewWindow; label: string }[]

export type OverviewBucket = Overview['series'][number]
type Spent = Pick<Overview, 'spend_usd' | 'spend_tokens'>

export interface BucketMeasure {
  value: string
  label: string
  figure: (bucket: OverviewBucket) => number
  format: (figure: number) => string
}

export function countErrors({ errors }: Pick<Overview, 'errors'>): number {
  return errors.reduce((sum, { count }) => sum + count, 0)
}

/** Minutes and hours in UTC, as the days of the ledger. */
export function labelOf(window: OverviewWindow, startTime: number): string {
  const iso = new Date(startTime * 1_000).toISOString()
  return window === 'month' ? formatShortDate(iso) : formatTime(iso)
}

/** Both units, where both occur. */
export function formatSpend({ spend_usd: usd, spend_tokens: tokens }: Spent): string {
  const parts = [
    ...(usd > 0 ? [formatUsd(usd)] : []),
    ...(tokens > 0 ? [formatAmount(Math.round(tokens), 'tokens')] : []),
  ]
  return parts.length > 0 ? parts.join(' and ') : 'none'
}

export function formatLatency(ms: number | null): string {
  return ms === null ? '–' : formatDuration(ms)
}

/** The most important first. Spend has a measure for each unit that occurs. */
export function measuresOf({ spend_usd: usd, spend_tokens: tokens }: Spent): [BucketMeasure, ...BucketMeasure[]] {
  return [
    { value: 'requests', label: 'Requests', figure: ({ ended }) => ended, format: formatCount },
    { value: 'errors', label: 'Errors', figure: countErrors, format: formatCount },
    { value: 'p50', label: 'p50', figure: ({ p50_ms: ms }) => ms ?? 0, format: formatDuration },
    { value: 'p99', label: 'p99', figure: ({ p99_ms: ms }) => ms ?? 0, format: formatDuration },
    ...(usd > 0
      ? [{ value: 'usd', label: 'US dollars', figure: (of: OverviewBucket) => of.spend_usd, format: formatUsd }]
      : []),
    ...(tokens > 0
      ? [{ value: 'tokens', label: 'Tokens', figure: (of: OverviewBucket) => of.spend_tokens, format: formatCount }]
      : []),
  ]
}
