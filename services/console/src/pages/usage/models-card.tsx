import { VisuallyHidden } from '@mantine/core'
import type { UsageRow } from '@gateway/contracts/usage-api'
import { Card } from '../../parts/card.tsx'
import { WideTable, type Column } from '../../parts/wide-table.tsx'
import { columnOf, type Measure } from './measures.ts'
import classes from './usage.module.css'

/** Models with their cost, each with its share as a bar. */
export function ModelsCard({ rows, measures }: { rows: UsageRow[]; measures: [Measure, ...Measure[]] }) {
  const { figure } = measures[0]
  const highest = Math.max(...rows.map(figure))
  const share: Column<UsageRow> = {
    title: <VisuallyHidden>Share</VisuallyHidden>,
    cell: (row) => (
      <div className={classes.share} aria-hidden="true">
        <div style={{ inlineSize: `${highest > 0 ? (figure(row) / highest) * 100 : 0}%` }} />
      </div>
    ),
  }
  return (
    <Card title="By model">
      <WideTable
        label="Usage by model"
        rows={rows}
        name={{ title: 'Requested model', of: ({ model }) => model ?? '', className: 'mono' }}
        columns={[...measures.map(columnOf), share]}
      />
    </Card>
  )
}
