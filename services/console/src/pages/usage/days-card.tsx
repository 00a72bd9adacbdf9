import type { UsageRecord } from '@gateway/contracts/usage-api'
import { formatDate } from '../../core/format.ts'
import { everyDay } from '../../core/usage-days.ts'
import { ChartCard } from '../../parts/chart-card.tsx'
import { WideTable } from '../../parts/wide-table.tsx'
import { DayBars } from './day-bars.tsx'
import { columnOf, type Measure } from './measures.ts'

export function DaysCard({ record, measures }: { record: UsageRecord; measures: [Measure, ...Measure[]] }) {
  return (
    <ChartCard
      title="By day"
      measures={measures}
      chart={(measure) => <DayBars days={everyDay(record.data, record)} measure={measure} />}
      table={
        <WideTable
          label="Usage by day"
          rows={record.data.toReversed()}
          name={{ title: 'Day', of: ({ day }) => formatDate(day ?? '') }}
          columns={measures.map(columnOf)}
        />
      }
    />
  )
}
