import { formatAgo, formatMoment } from '../../core/format.ts'
import type { KeyList } from '../../gateway/queries.ts'
import { Card } from '../../parts/card.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { WideTable } from '../../parts/wide-table.tsx'

export function KeyHistory({ keys, hasMore }: { keys: KeyList['data']; hasMore: boolean }) {
  if (keys.length === 0) return null
  return (
    <Card title="All your keys">
      <WideTable
        label="Keys and their status"
        rows={keys}
        name={{ title: 'Key', of: ({ key }) => key, className: 'mono' }}
        columns={[
          {
            title: 'Status',
            cell: ({ status }) => <StatusBadge tone={status === 'active' ? 'good' : 'quiet'}>{status}</StatusBadge>,
          },
          { title: 'Created', cell: ({ created_at }) => formatMoment(created_at) },
          {
            title: 'Last used',
            cell: ({ last_used_at }) => (last_used_at ? formatAgo(last_used_at, Date.now()) : 'never'),
          },
        ]}
      />
      {hasMore && <p>These are the newest {keys.length} keys. GET /v1/keys/developer lists the older ones, too.</p>}
    </Card>
  )
}
