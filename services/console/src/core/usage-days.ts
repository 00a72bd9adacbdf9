/**
 * Prepares usage for a chart: periods of calendar days in UTC, the figures of each day, and a round scale.
 */

import type { UsageRow, UsageTotals } from '@gateway/contracts/usage-api'

export const PERIODS = [
  { value: 'month', label: 'This month' },
  { value: 'last-month', label: 'Last month' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
] as const
export type Period = (typeof PERIODS)[number]['value']

export interface Span {
  /** Both included: `2026-11-01`. */
  from: string
  to: string
}

const DAY_MS = 86_400_000

/** Without dates the gateway returns the days from the first of its own month to its own today. */
export type UsageDates = Span | Record<string, never>

/** `today` comes from the gateway, since a browser's clock may be wrong. Null while the gateway has not sent it. */
export function datesFor(period: Period, today: string | undefined): UsageDates | null {
  if (period === 'month') return {}
  if (today === undefined) return null
  const todayMs = Date.parse(today)
  const [year = NaN, month = NaN] = today.split('-').map(Number)
  if (period === 'last-month')
    return { from: dayOf(Date.UTC(year, month - 2, 1)), to: dayOf(Date.UTC(year, month - 1, 0)) }
  return { from: dayOf(todayMs - (Number(period) - 1) * DAY_MS), to: today }
}

/** From the first day of the month to today, in UTC. */
export function monthToDate(nowMs: number): Span {
  const today = dayOf(nowMs)
  return { from: `${today.slice(0, 7)}-01`, to: today }
}

export interface DayUsage extends UsageTotals {
  day: string
}

const NOTHING: UsageTotals = {
  requests: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  cached_tokens: 0,
  total_tokens: 0,
  allowance_tokens: 0,
  cost_usd: 0,
}

/** The ledger has no row for a day without use; a chart needs one. */
export function everyDay(rows: UsageRow[], { from, to }: Span): DayUsage[] {
  const byDay = new Map(rows.map((row) => [row.day, row]))
  const days: DayUsage[] = []
  for (let ms = Date.parse(from); ms <= Date.parse(to); ms += DAY_MS) {
    const day = dayOf(ms)
    days.push({ ...(byDay.get(day) ?? NOTHING), day })
  }
  return days
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** Marks from 0 up to the first that is not below `highest`, at most five, at round figures. */
export function roundScale(highest: number): number[] {
  if (!(highest > 0)) return [0, 1]
  const rough = highest / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough)!
  const count = Math.ceil(highest / step - 1e-9)
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)))
}
