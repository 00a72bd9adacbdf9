import { Button, Skeleton } from '@mantine/core'
import type { ReactNode } from 'react'
import type { PagedItems } from '../gateway/administration.ts'
import classes from './paged-table.module.css'
import { ProblemNotice } from './problem-notice.tsx'
import { problemOf } from './query-view.tsx'
import { WideTable, type WideTableProps } from './wide-table.tsx'

export interface PagedTableProps<Row> extends Omit<WideTableProps<Row>, 'rows'> {
  list: PagedItems<Row>
  /** Stands in place of an empty table. */
  empty: ReactNode
}

/** A list that the gateway has by pages: the rows so far, and a button for more. */
export function PagedTable<Row>({ list, empty, ...table }: PagedTableProps<Row>) {
  const { items, error } = list
  if (items === undefined && !error) return <Skeleton height={180} radius="md" aria-busy="true" />
  return (
    <>
      {error && (
        <ProblemNotice
          problem={problemOf(error)}
          action={
            <Button variant="default" size="xs" loading={list.isFetching} onClick={list.tryAgain}>
              Try again
            </Button>
          }
        />
      )}
      {items?.length === 0 && <p className="quiet">{empty}</p>}
      {items && items.length > 0 && <WideTable rows={items} {...table} />}
      {items && list.hasMore && (
        <div className={classes.more}>
          <Button variant="default" size="xs" loading={list.isFetchingMore} onClick={list.fetchMore}>
            Show more
          </Button>
          <span className="quiet">{items.length} are shown.</span>
        </div>
      )}
    </>
  )
}
