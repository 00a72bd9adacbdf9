import { Button, NativeSelect, TextInput, VisuallyHidden } from '@mantine/core'
import type { ProjectGroup } from '@gateway/contracts/administration/members'
import { useState } from 'react'
import { useOperation, useOperationChange, useOperationPages } from '../../gateway/administration.ts'
import { Card } from '../../parts/card.tsx'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { Ending } from '../../parts/ending.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import { problemOf } from '../../parts/query-view.tsx'
import { RowButton } from '../../parts/row-button.tsx'
import { MEMBER_ROLES, toRole, type MemberRole } from './people-card.tsx'
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
      <TextInput
        label="Name"
        description="As the identity provider writes it into tokens."
        required
        maxLength={256}
        data-autofocus
        value={text}
        onChange={({ currentTarget: { value } }) => setText(value)}
      />
      <NativeSelect
        mt="md"
        label="Role"
        data={[...MEMBER_ROLES]}
        value={role}
        onChange={({ currentTarget: { value } }) => setRole(toRole(value))}
      />
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
  const preview = useOperation('projectViews.preview', of, { isFresh: true })
  return (
    <ConfirmDialog
      opened
      title={`Remove the group ${group.group_name}?`}
      confirm="Remove group"
      isDangerous
      isWorking={remove.isPending}
      isWaiting={preview.isFetching}
      onCancel={onClose}
      onConfirm={() => remove.mutate(of, { onSuccess: onClose })}
    >
      <Ending preview={preview} />
      <p>Its people see the project no more, and their own keys here end, unless something else brings them in.</p>
      {remove.error && <ProblemNotice problem={problemOf(remove.error)} />}
    </ConfirmDialog>
  )
}
