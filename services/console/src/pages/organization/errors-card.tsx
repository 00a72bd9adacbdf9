import { formatCount, formatShare } from '../../core/format.ts'
import type { CallOutput } from '../../gateway/administration.ts'
import { Card } from '../../parts/card.tsx'
import { WideTable } from '../../parts/wide-table.tsx'

export function ErrorsCard({ overview }: { overview: CallOutput<'overview.show'> }) {
  const { errors, ended, clients_gone: gone } = overview
  return (
    <Card title="Errors">
      {errors.length === 0 ? (
        <p className="quiet">No request ended in an error.</p>
      ) : (
        <WideTable
          label="Errors by code"
          rows={errors}
          name={{ title: 'Code', of: ({ code }) => code, className: 'mono' }}
          columns={[
            { title: 'Requests', cell: ({ count }) => formatCount(count), isFigure: true },
            { title: 'Of all', cell: ({ count }) => formatShare(count, ended), isFigure: true },
          ]}
        />
      )}
      {gone > 0 && <p className="quiet">{formatCount(gone)} clients left before the end.</p>}
    </Card>
  )
}
