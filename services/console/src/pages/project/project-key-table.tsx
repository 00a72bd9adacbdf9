import { VisuallyHidden } from '@mantine/core'
import type { ProjectApiKey } from '@gateway/contracts/administration/projects'
import { formatAgo, formatMoment } from '../../core/format.ts'
import { describeLimits } from '../../core/key-limits.ts'
import { useMe, useOperationPages } from '../../gateway/administration.ts'
import { PagedTable } from '../../parts/paged-table.tsx'
import type { Column } from '../../parts/wide-table.tsx'
import { KeyActions } from './key-actions.tsx'
import type { NewValue } from './shown-once.tsx'
import type { ProjectRights, ShownProject } from './use-project.ts'

export interface ProjectKeyTableProps {
  project: ShownProject
  rights: ProjectRights
  search: string
  onEdit: (key: ProjectApiKey) => void
  onRotated: (made: NewValue) => void
}

export function ProjectKeyTable({ project, rights, search, onEdit, onRotated }: ProjectKeyTableProps) {
  const me = useMe()
  const list = useOperationPages('apiKeys.list', {
    project_id: project.id,
    owner_project_access: 'any',
    limit: 50,
    search,
  })
  /** Members change own keys, owners all of the project. */
  const mayChange = ({ owner }: ProjectApiKey) =>
    rights.manages || (rights.makesKeys && owner.user !== undefined && owner.user.id === me?.id)
  const actions: Column<ProjectApiKey> = {
    title: <VisuallyHidden>Changes</VisuallyHidden>,
    cell: (key) =>
      mayChange(key) && <KeyActions project={project} apiKey={key} onEdit={() => onEdit(key)} onRotated={onRotated} />,
    isFigure: true,
  }
  return (
    <PagedTable
      list={list}
      empty={search === '' ? 'The project has no key.' : 'No key has such a name or beginning.'}
      label="Keys, their owners and limits"
      name={{
        title: 'Name',
        of: ({ name }) => name,
        keyOf: ({ id }) => id,
        cell: ({ name, redacted_value: masked }) => (
          <>
            <span dir="auto">{name}</span>
            <br />
            <span className="mono quiet">{masked}</span>
          </>
        ),
      }}
      columns={[
        { title: 'Owner', cell: (key) => ownerOf(key) },
        { title: 'Limits', cell: (key) => describeLimits(key, project.unit).join(', ') || 'those of the project' },
        { title: 'Expires', cell: ({ expires_at: at }) => (at === null ? 'never' : formatMoment(isoOf(at))) },
        {
          title: 'Last used',
          cell: ({ last_used_at: at }) => (at === null ? 'never' : formatAgo(isoOf(at), Date.now())),
        },
        actions,
      ]}
    />
  )
}

function ownerOf({ owner, owner_project_access: access }: ProjectApiKey): string {
  const name = owner.service_account?.name ?? owner.user?.name ?? ''
  return access === 'inactive' ? `${name} (no member any more)` : name
}

function isoOf(unixSeconds: number): string {
  return new Date(unixSeconds * 1_000).toISOString()
}
