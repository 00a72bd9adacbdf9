import { Table } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './wide-table.module.css'

export interface Column<Row> {
  title: ReactNode
  cell: (row: Row) => ReactNode
  /** Figures stand at the end of their column. */
  isFigure?: boolean
}

export interface WideTableProps<Row> {
  label: string
  rows: readonly Row[]
  /** The first column, which identifies a row. `keyOf`: where two rows may have one name. */
  name: {
    title: string
    of: (row: Row) => string
    keyOf?: (row: Row) => string
    cell?: (row: Row) => ReactNode
    className?: 'mono'
  }
  columns: readonly Column<Row>[]
}

/** Scrolls sideways within itself where the screen is narrow; the keyboard can reach it. */
export function WideTable<Row>({ label, rows, name, columns }: WideTableProps<Row>) {
  return (
    <div className={classes.frame} role="region" aria-label={label} tabIndex={0}>
      <Table className={classes.table} horizontalSpacing="sm" verticalSpacing={10}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">{name.title}</Table.Th>
            {columns.map(({ title, isFigure }, index) => (
              <Table.Th key={index} scope="col" ta={isFigure ? 'end' : undefined}>
                {title}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={name.keyOf?.(row) ?? name.of(row)}>
              <Table.Th scope="row" className={name.className}>
                {name.cell?.(row) ?? name.of(row)}
              </Table.Th>
              {columns.map(({ cell, isFigure }, index) => (
                <Table.Td key={index} ta={isFigure ? 'end' : undefined}>
                  {cell(row)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  )
}
