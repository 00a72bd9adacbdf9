/**
 * The audit log: each change with its actor, its time, and the values before and after. The address keeps the filters, so that they can be sent.
 */

import type { AuditLog } from '@gateway/contracts/administration/audit-logs'
import { Button, Skeleton } from '@mantine/core'
import { queryOf } from '../../core/audit-rows.ts'
import { useOperationPages } from '../../gateway/administration.ts'
import { useQueryMembers } from '../../navigation.ts'
import { Card } from '../../parts/card.tsx'
import { Page } from '../../parts/page.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import { problemOf } from '../../parts/query-view.tsx'
import { AuditFilterForm } from './audit-filter-form.tsx'
import classes from './audit.module.css'
import { AuditRow } from './audit-row.tsx'
import { VerifyLog } from './verify-log.tsx'

const ROWS_OF_A_PAGE = 25

export default function AuditPage() {
  const filters = useQueryMembers()
  const log = useOperationPages('auditLogs.list', { limit: ROWS_OF_A_PAGE, ...queryOf(filters) })
  return (
    <Page title="Audit" lead="Changes of the organization and refused sign-ins, newest first. Times are UTC.">
      <VerifyLog />
      <Card title="Rows">
        <AuditFilterForm filters={filters} />
        {log.error && (
          <ProblemNotice
            problem={problemOf(log.error)}
            action={
              <Button variant="default" size="xs" loading={log.isFetching} onClick={log.tryAgain}>
                Try again
              </Button>
            }
          />
        )}
        {!log.items && !log.error && <Skeleton height={260} radius="md" aria-busy="true" />}
        {log.items && <AuditRows rows={log.items} />}
        {log.items && log.hasMore && (
          <Button mt="md" variant="default" size="xs" loading={log.isFetchingMore} onClick={log.fetchMore}>
            Show older rows
          </Button>
        )}
      </Card>
    </Page>
  )
}

function AuditRows({ rows }: { rows: readonly AuditLog[] }) {
  if (rows.length === 0) return <p className="quiet">No row matches.</p>
  return (
    <ul className={classes.rows} aria-label="Rows of the audit log">
      {rows.map((row) => (
        <AuditRow key={row.id} row={row} />
      ))}
    </ul>
  )
}
