import { Button, SegmentedControl, Table } from '@mantine/core'
import type { UsageRecord, UsageRow } from '@gateway/contracts/usage-api'
import { useState } from 'react'
import { formatDate } from '../../core/format.ts'
import { everyDay } from '../../core/usage-days.ts'
import { Card } from '../../parts/card.tsx'
import { WideTable } from '../../parts/wide-table.tsx'
import { DayBars } from './day-bars.tsx'
import type { Measure } from './measures.ts'
import classes from './usage.module.css'

export function DaysCard({ record, measures }: { record: UsageRecord; measures: Measure[] }) {
  const [chosen, setChosen] = useState<string | null>(null)
  const [asTable, setAsTable] = useState(false)
  const measure = measures.find(({ value }) => value === chosen) ?? measures[0]!
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
        <DayTable rows={record.data} measures={measures} />
      ) : (
        <DayBars days={everyDay(record.data, record)} measure={measure} />
      )}
    </Card>
  )
}

/** Days with use, the latest first. */
function DayTable({ rows, measures }: { rows: UsageRow[]; measures: Measure[] }) {
  return (
    <WideTable label="Usage by day">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Day</Table.Th>
          {measures.map(({ value, label }) => (
            <Table.Th key={value} scope="col" ta="end">
              {label}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.toReversed().map((row) => (
          <Table.Tr key={row.day}>
            <Table.Th scope="row">{formatDate(row.day ?? '')}</Table.Th>
            {measures.map(({ value, figure, format }) => (
              <Table.Td key={value} ta="end">
                {format(figure(row))}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}
