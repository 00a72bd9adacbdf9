import { Button, SegmentedControl } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { Card } from './card.tsx'
import classes from './chart-card.module.css'

interface ChartCardProps<Measure> {
  title: string
  measures: readonly [Measure, ...Measure[]]
  chart: (measure: Measure) => ReactNode
  /** All measures. */
  table: ReactNode
}

/** One measure as a chart, or all of them as a table. */
export function ChartCard<Measure extends { value: string; label: string }>(props: ChartCardProps<Measure>) {
  const { title, measures, chart, table } = props
  const [chosen, setChosen] = useState<string | null>(null)
  const [asTable, setAsTable] = useState(false)
  const measure = measures.find(({ value }) => value === chosen) ?? measures[0]
  return (
    <Card
      title={title}
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
      {asTable ? table : chart(measure)}
    </Card>
  )
}
