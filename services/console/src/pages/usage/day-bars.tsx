import { formatShortDate } from '../../core/format.ts'
import type { DayUsage } from '../../core/usage-days.ts'
import { Bars } from '../../parts/bars.tsx'
import type { Measure } from './measures.ts'

export function DayBars({ days, measure }: { days: DayUsage[]; measure: Measure }) {
  const { label, figure, format, short } = measure
  const bars = days.map((day) => ({ key: day.day, label: formatShortDate(day.day), value: figure(day) }))
  return <Bars bars={bars} title={`${label} a day`} summary={summarise(days, measure)} format={format} short={short} />
}

function summarise(days: DayUsage[], { label, figure, format }: Measure): string {
  const values = days.map(figure)
  const highest = Math.max(...values)
  const day = days[values.indexOf(highest)]
  if (!day || highest === 0) return `${label} a day: none.`
  const total = values.reduce((sum, value) => sum + value, 0)
  return `${label} a day: ${format(total)} over ${days.length} days, the most on ${formatShortDate(day.day)}, ${format(highest)}.`
}
