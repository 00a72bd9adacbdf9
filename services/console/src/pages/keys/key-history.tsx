import { Table } from '@mantine/core'
import { formatAgo, formatMoment } from '../../core/format.ts'
import type { KeyList } from '../../gateway/queries.ts'
import { Card } from '../../parts/card.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { WideTable } from '../../parts/wide-table.tsx'

export function KeyHistory({ keys, hasMore }: { keys: KeyList['data']; hasMore: boolean }) {
  if (keys.length === 0) return null
  return (
    <Card title="All your keys">
      <WideTable label="Keys and their status">
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">Key</Table.Th>
            <Table.Th scope="col">Status</Table.Th>
            <Table.Th scope="col">Created</Table.Th>
            <Table.Th scope="col">Last used</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {keys.map(({ key, status, created_at, last_used_at }) => (
            <Table.Tr key={key}>
              <Table.Td className="mono">{key}</Table.Td>
              <Table.Td>
                <StatusBadge tone={status === 'active' ? 'good' : 'quiet'}>{status}</StatusBadge>
              </Table.Td>
              <Table.Td>{formatMoment(created_at)}</Table.Td>
              <Table.Td>{last_used_at ? formatAgo(last_used_at, Date.now()) : 'never'}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </WideTable>
      {hasMore && <p>These are the newest {keys.length} keys. GET /v1/keys/developer lists the older ones, too.</p>}
    </Card>
  )
}
