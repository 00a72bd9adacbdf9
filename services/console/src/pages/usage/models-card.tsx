import { Table } from '@mantine/core'
import type { UsageRow } from '@gateway/contracts/usage-api'
import { Card } from '../../parts/card.tsx'
import { WideTable } from '../../parts/wide-table.tsx'
import type { Measure } from './measures.ts'
import classes from './usage.module.css'

/** Models by what they cost, each with its share as a bar. */
export function ModelsCard({ rows, measures }: { rows: UsageRow[]; measures: Measure[] }) {
  const [first] = measures
  const highest = first ? Math.max(...rows.map(first.figure)) : 0
  return (
    <Card title="By model">
      <WideTable label="Usage by model">
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">Model asked for</Table.Th>
            {measures.map(({ value, label }) => (
              <Table.Th key={value} scope="col" ta="end">
                {label}
              </Table.Th>
            ))}
            <Table.Th scope="col" className={classes.shareHead}>
              <span className="visually-hidden">Share</span>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={row.model}>
              <Table.Th scope="row" className="mono">
                {row.model}
              </Table.Th>
              {measures.map(({ value, figure, format }) => (
                <Table.Td key={value} ta="end">
                  {format(figure(row))}
                </Table.Td>
              ))}
              <Table.Td>
                <div className={classes.share} aria-hidden="true">
                  <div style={{ inlineSize: `${highest > 0 ? ((first?.figure(row) ?? 0) / highest) * 100 : 0}%` }} />
                </div>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </WideTable>
    </Card>
  )
}
