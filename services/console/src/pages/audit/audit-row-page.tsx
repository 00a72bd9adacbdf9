/**
 * One row of the audit log by its address, for a ticket or a chat.
 */

import { wordsOf } from '../../core/audit-rows.ts'
import { formatMoment } from '../../core/format.ts'
import { isoOf } from '../../core/unix-time.ts'
import { useOperation } from '../../gateway/administration.ts'
import { Card } from '../../parts/card.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Page } from '../../parts/page.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { usePageParameter } from '../../page-parameters.ts'
import { AuditDetails } from './audit-row.tsx'

export default function AuditRowPage() {
  const row = useOperation('auditLogs.retrieve', { audit_log_id: usePageParameter('row') })
  const { data } = row
  return (
    <Page
      title={data ? wordsOf(data.type) : 'Row of the audit log'}
      lead={data && formatMoment(isoOf(data.effective_at))}
      actions={<CopyButton value={window.location.href} label="Copy the address" />}
    >
      <QueryView query={row} heights={[320]}>
        {(shown) => (
          <Card>
            <AuditDetails row={shown} />
          </Card>
        )}
      </QueryView>
      <p>
        <PageLink to="/organization/audit">All rows</PageLink>
      </p>
    </Page>
  )
}
