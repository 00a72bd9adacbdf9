import { Button, VisuallyHidden } from '@mantine/core'
import type { ProjectGroup } from '@gateway/contracts/administration/members'
import { useState } from 'react'
import { useOperationChange, useOperationPages } from '../../gateway/administration.ts'
import { Card } from '../../parts/card.tsx'
import { EndDialog } from '../../parts/end-dialog.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { FirstField } from '../../parts/form-fields.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { RowButton } from '../../parts/row-button.tsx'
import { RoleField, type MemberRole } from './role-field.tsx'
import type { ProjectRights, ShownProject } from './use-project.ts'

interface GroupsCardProps {
  project: ShownProject
  rights: ProjectRights
}

/** Groups of the identity provider. The organization's owners name new ones. */
export function GroupsCard({ project, rights }: GroupsCardProps) {
  const list = useOperationPages('projectGroups.list', { project_id: project.id, limit: 50 })
  const [isAdding, setIsAdding] = useState(false)
  const [removing, setRemoving] = useState<ProjectGroup | null>(null)
  return (
    <Card
      title="Groups"
      aside={
        rights.administers && (
          <Button variant="default" size="xs" onClick={() => setIsAdding(true)}>
            Add a group
          </Button>
        )
      }
    >
      <PagedTable
        list={list}
        empty="No group is a member."
        label="Groups and their roles"
        name={{ title: 'Group', of: ({ group_name: name }) => name, keyOf: ({ group_id: id }) => id }}
        columns={[
          { title: 'Role of its people', cell: ({ role }) => role },
          {
            title: <VisuallyHidden>Changes</VisuallyHidden>,
            isFigure: true,
            cell: (group) =>
              rights.manages && (
                <RowButton act="Remove" of={group.group_name} isDangerous onClick={() => setRemoving(group)} />
              ),
          },
        ]}
      />
      {isAdding && <AddGroup project={project} onClose={() => setIsAdding(false)} />}
      {removing && <RemoveGroup project={project} group={removing} onClose={() => setRemoving(null)} />}
    </Card>
  )
}

function AddGroup({ project, onClose }: { project: ShownProject; onClose: () => void }) {
  const name = useOperationChange('groups.create')
  const add = useOperationChange('projectGroups.create')
  const [text, setText] = useState('')
  const [role, setRole] = useState<MemberRole>('member')
  const addNamed = ({ id }: { id: string }) =>
    add.mutate({ project_id: project.id, group_id: id, role }, { onSuccess: onClose })
  return (
    <FormDialog
      title="Add a group"
      submit="Add"
      isWorking={name.isPending || add.isPending}
      error={name.error ?? add.error}
      onClose={onClose}
      onSubmit={() => name.mutate({ name: text }, { onSuccess: addNamed })}
    >
      <FirstField
        label="Name"
        description="As the identity provider writes it into tokens."
        value={text}
        onChange={setText}
      />
      <RoleField role={role} onChange={setRole} />
    </FormDialog>
  )
}

interface RemoveGroupProps {
  project: ShownProject
  group: ProjectGroup
  onClose: () => void
}

function RemoveGroup({ project, group, onClose }: RemoveGroupProps) {
  const remove = useOperationChange('projectGroups.delete')
  const of = { project_id: project.id, group_id: group.group_id }
  return (
    <EndDialog
      title={`Remove the group ${group.group_name}?`}
      confirm="Remove group"
      of={of}
      change={remove}
      onClose={onClose}
    >
      <p>Its people see the project no more, and their own keys here end, unless something else brings them in.</p>
    </EndDialog>
  )
}
