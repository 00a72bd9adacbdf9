import { Table } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './wide-table.module.css'

/** Scrolls sideways within itself where the screen is narrow; the keyboard can reach it. */
export function WideTable({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className={classes.frame} role="region" aria-label={label} tabIndex={0}>
      <Table className={classes.table} horizontalSpacing="sm" verticalSpacing={10}>
        {children}
      </Table>
    </div>
  )
}
