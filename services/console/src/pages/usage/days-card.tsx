import { Button, SegmentedControl } from '@mantine/core'
import type { UsageRecord } from '@gateway/contracts/usage-api'
import { useState } from 'react'
import { formatDate } from '../../core/format.ts'
import { everyDay } from '../../core/usage-days.ts'
import { Card } from '../../parts/card.tsx'
import { WideTable } from '../../parts/wide-table.tsx'
import { DayBars } from './day-bars.tsx'
import { columnOf, type Measure } from './measures.ts'
import classes from './usage.module.css'

export function DaysCard({ record, measures }: { record: UsageRecord; measures: [Measure, ...Measure[]] }) {
  const [chosen, setChosen] = useState<string | null>(null)
  const [asTable, setAsTable] = useState(false)
  const measure = measures.find(({ value }) => value === chosen) ?? measures[0]
  return (
    <Card
      title="By day"
      aside={
        <div className={classes.controls}>
          {!asTable && (
            <SegmentedControl
              aria-label="What to show"
              size="xs"
              data={measures.map(({ value, label }) => ({ value, label }))}
              value={measure.value}
              onChange={setChosen}
            />
          )}
          <Button variant="default" size="xs" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
            Table
          </Button>
        </div>
      }
    >
      {asTable ? (
        <WideTable
          label="Usage by day"
          rows={record.data.toReversed()}
          name={{ title: 'Day', of: ({ day }) => formatDate(day ?? '') }}
          columns={measures.map(columnOf)}
        />
      ) : (
        <DayBars days={everyDay(record.data, record)} measure={measure} />
      )}
    </Card>
  )
}
