import type { ProjectView } from '@gateway/contracts/administration/project-views'
import { formatCount } from '../../core/format.ts'
import { projectName } from '../../core/project-name.ts'
import { useOperationPages, type CallInput } from '../../gateway/administration.ts'
import { PagedTable } from '../../parts/paged-table.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { Spending } from '../../parts/spending.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import type { Column } from '../../parts/wide-table.tsx'

const COLUMNS: readonly Column<ProjectView>[] = [
  {
    title: 'Spent this month',
    cell: (project) => <Spending project={project} label={`Spent by ${projectName(project)}`} />,
  },
  { title: 'Plan', cell: ({ plan }) => plan },
  { title: 'Keys', cell: ({ keys }) => formatCount(keys), isFigure: true },
  { title: 'Status', cell: ({ status }) => <ProjectStatus status={status} /> },
]

export function ProjectTable({ input, empty }: { input: CallInput<'projectViews.list'>; empty: string }) {
  const list = useOperationPages('projectViews.list', { limit: 25, ...input })
  return (
    <PagedTable
      list={list}
      empty={empty}
      label="Projects"
      name={{
        title: 'Project',
        of: projectName,
        keyOf: ({ id }) => id,
        cell: (project) => <PageLink to={`/projects/${project.id}`}>{projectName(project)}</PageLink>,
      }}
      columns={COLUMNS}
    />
  )
}

export function ProjectStatus({ status }: Pick<ProjectView, 'status'>) {
  return <StatusBadge tone={status === 'active' ? 'good' : 'quiet'}>{status}</StatusBadge>
}
