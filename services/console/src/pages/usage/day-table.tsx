import { Table } from '@mantine/core'
import type { UsageRow } from '@gateway/contracts/usage-api'
import { formatDate } from '../../core/format.ts'
import { WideTable } from '../../parts/wide-table.tsx'
import type { Measure } from './measures.ts'

/** Days with use, the latest first. */
export function DayTable({ rows, measures }: { rows: UsageRow[]; measures: Measure[] }) {
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
