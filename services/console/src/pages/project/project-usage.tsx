import { SegmentedControl, Skeleton } from '@mantine/core'
import type { ProjectUsageGrouping } from '@gateway/contracts/administration/project-views'
import { useState } from 'react'
import { formatAmount, formatCount, formatDate, formatUsd } from '../../core/format.ts'
import { monthToDate } from '../../core/usage-days.ts'
import { useOperation, useOperationPages, type CallOutput } from '../../gateway/administration.ts'
import { Card } from '../../parts/card.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { WideTable, type Column } from '../../parts/wide-table.tsx'
import classes from './project-usage.module.css'
import type { ShownProject } from './use-project.ts'

type Usage = CallOutput<'projectViews.usage'>
type Row = Usage['data'][number]

const GROUPINGS = [
  { value: 'api_key', label: 'Key' },
  { value: 'model', label: 'Model' },
  { value: 'tag', label: 'Tag' },
  { value: 'day', label: 'Day' },
] as const satisfies { value: ProjectUsageGrouping; label: string }[]
type Grouping = (typeof GROUPINGS)[number]['value']

const TITLES: Record<Grouping, string> = { api_key: 'Key', model: 'Requested model', tag: 'Tag', day: 'Day' }
const NAMELESS: Record<Grouping, string> = { api_key: 'no key', model: 'no model', tag: 'no tag', day: '' }

export function ProjectUsage({ project }: { project: ShownProject }) {
  const [grouping, setGrouping] = useState<Grouping>('api_key')
  const usage = useOperation(
    'projectViews.usage',
    { project_id: project.id, ...monthToDate(Date.now()), group_by: grouping, limit: 50 },
    { keepsPrevious: true },
  )
  return (
    <Card
      title="Usage this month"
      aside={
        <SegmentedControl
          aria-label="Usage by"
          size="xs"
          data={[...GROUPINGS]}
          value={grouping}
          onChange={setGrouping}
        />
      }
    >
      <QueryView query={usage} heights={[160]}>
        {(record) => <UsageTable project={project} record={record} grouping={groupingOf(record)} />}
      </QueryView>
    </Card>
  )
}

/** The shown record may still be of the grouping before. */
function groupingOf({ group_by: by }: Usage): Grouping {
  return by === 'user' ? 'day' : by
}

interface UsageTableProps {
  project: ShownProject
  record: Usage
  grouping: Grouping
}

function UsageTable({ project, record, grouping }: UsageTableProps) {
  const ids = grouping === 'api_key' ? record.data.flatMap(({ name }) => name ?? []) : []
  const names = useKeyNames(project.id, ids)
  if (record.data.length === 0) return <p className="quiet">No requests this month.</p>
  if (names === undefined) return <Skeleton height={120} aria-busy="true" />
  const { totals } = record
  return (
    <>
      {totals && (
        <p className={classes.totals}>
          {formatCount(totals.requests)} requests, {formatCount(totals.total_tokens)} tokens,{' '}
          {chargeOf(project, totals)}
        </p>
      )}
      <WideTable
        label={`Usage by ${TITLES[grouping].toLowerCase()}`}
        rows={record.data}
        name={{
          title: TITLES[grouping],
          of: ({ name }) => (name === null ? NAMELESS[grouping] : nameOf(grouping, name, names)),
          keyOf: ({ name }) => name ?? '',
        }}
        columns={columnsFor(project)}
      />
      {record.has_more && <p className="quiet">These {record.data.length} cost most.</p>}
      {grouping === 'tag' && <p className="quiet">A request with several tags counts for each of them.</p>}
    </>
  )
}

function nameOf(grouping: Grouping, name: string, names: ReadonlyMap<string, string>): string {
  if (grouping === 'day') return formatDate(name)
  return names.get(name) ?? (grouping === 'api_key' ? `${name.replace(/^key_/, 'svc_')}… (ended)` : name)
}

function columnsFor(project: ShownProject): Column<Row>[] {
  return [
    { title: 'Requests', cell: (row) => formatCount(row.requests), isFigure: true },
    { title: 'Tokens', cell: (row) => formatCount(row.total_tokens), isFigure: true },
    {
      title: project.unit === 'usd' ? 'Cost' : 'Allowance',
      cell: (row) => chargeOf(project, row),
      isFigure: true,
    },
  ]
}

/** Both units, where the plan changed between them. */
function chargeOf({ unit }: ShownProject, { cost_usd: usd, allowance_tokens: tokens }: Omit<Row, 'name'>): string {
  const parts = [
    ...(tokens > 0 || unit === 'tokens' ? [formatAmount(tokens, 'tokens')] : []),
    ...(usd > 0 || unit === 'usd' ? [formatUsd(usd)] : []),
  ]
  return parts.join(' and ')
}

const MOST_IDS = 100

/** Names of live keys; undefined until they are known. */
function useKeyNames(project_id: string, ids: readonly string[]): ReadonlyMap<string, string> | undefined {
  const keys = useOperationPages(
    'apiKeys.list',
    { project_id, owner_project_access: 'any', limit: MOST_IDS, api_key_ids: ids.slice(0, MOST_IDS) },
    { enabled: ids.length > 0 },
  )
  if (ids.length === 0) return NO_NAMES
  if (!keys.items) return keys.error ? NO_NAMES : undefined
  return new Map(keys.items.map(({ id, name }) => [id, name]))
}

const NO_NAMES: ReadonlyMap<string, string> = new Map()
