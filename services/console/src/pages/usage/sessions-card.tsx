import type { UsageRow } from '@gateway/contracts/usage-api'
import { formatCount, formatShare } from '../../core/format.ts'
import { Card } from '../../parts/card.tsx'
import { WideTable, type Column } from '../../parts/wide-table.tsx'
import { columnOf, type Measure } from './measures.ts'

const MOST_ROWS = 50

const PROMPT: Column<UsageRow> = {
  title: 'Prompt tokens',
  cell: (row) => formatCount(row.prompt_tokens),
  isFigure: true,
}
const CACHED: Column<UsageRow> = {
  title: 'From cache',
  cell: (row) => formatShare(row.cached_tokens, row.prompt_tokens),
  isFigure: true,
}

/** Sessions of coding tools: the share of their prompts that the backends had in a cache. */
export function SessionsCard({ rows, measures }: { rows: UsageRow[]; measures: [Measure, ...Measure[]] }) {
  if (rows.length === 0) return null
  return (
    <Card title="By session">
      <WideTable
        label="Usage by session"
        rows={rows.slice(0, MOST_ROWS)}
        name={{ title: 'Session', of: ({ session }) => session ?? '', className: 'mono' }}
        columns={[...measures.map(columnOf), PROMPT, CACHED]}
      />
    </Card>
  )
}
