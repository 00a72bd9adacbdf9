import { Button, Group, VisuallyHidden } from '@mantine/core'
import type { ProjectUser } from '@gateway/contracts/administration/members'
import { useState } from 'react'
import { formatDate } from '../../core/format.ts'
import { useOperationChange, useOperationPages } from '../../gateway/administration.ts'
import { Card } from '../../parts/card.tsx'
import { EndDialog } from '../../parts/end-dialog.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { FirstField } from '../../parts/form-fields.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import { problemOf } from '../../parts/query-view.tsx'
import { RowButton } from '../../parts/row-button.tsx'
import { RoleField, type MemberRole } from './role-field.tsx'
import type { ProjectRights, ShownProject } from './use-project.ts'

interface PeopleCardProps {
  project: ShownProject
  rights: ProjectRights
}

export function PeopleCard({ project, rights }: PeopleCardProps) {
  const list = useOperationPages('projectUsers.list', { project_id: project.id, limit: 50 })
  const [isAdding, setIsAdding] = useState(false)
  const [removing, setRemoving] = useState<ProjectUser | null>(null)
  const update = useOperationChange('projectUsers.update')
  const change = ({ id, role }: ProjectUser) =>
    update.mutate({ project_id: project.id, user_id: id, role: role === 'owner' ? 'member' : 'owner' })
  return (
    <Card
      title="People"
      aside={
        rights.manages && (
          <Button variant="default" size="xs" onClick={() => setIsAdding(true)}>
            Add a person
          </Button>
        )
      }
    >
      {update.error && <ProblemNotice problem={problemOf(update.error)} />}
      <PagedTable
        list={list}
        empty={project.personal ? 'This is the account of one person.' : 'Nobody is a member as a person.'}
        label="People and their roles"
        name={{ title: 'Person', of: nameOf, keyOf: ({ id }) => id }}
        columns={[
          { title: 'E-mail', cell: ({ email }) => email ?? '–' },
          { title: 'Role', cell: ({ role }) => role },
          { title: 'Since', cell: ({ added_at: at }) => formatDate(new Date(at * 1_000).toISOString()) },
          {
            title: <VisuallyHidden>Changes</VisuallyHidden>,
            isFigure: true,
            cell: (user) =>
              rights.manages && (
                <Group gap={6} wrap="nowrap" justify="flex-end">
                  <RowButton
                    act={user.role === 'owner' ? 'Make a member' : 'Make an owner'}
                    of={nameOf(user)}
                    onClick={() => change(user)}
                  />
                  <RowButton act="Remove" of={nameOf(user)} isDangerous onClick={() => setRemoving(user)} />
                </Group>
              ),
          },
        ]}
      />
      {isAdding && <AddPerson project={project} onClose={() => setIsAdding(false)} />}
      {removing && <RemovePerson project={project} user={removing} onClose={() => setRemoving(null)} />}
    </Card>
  )
}

function nameOf({ name, email, id }: ProjectUser): string {
  return name ?? email ?? id
}

function AddPerson({ project, onClose }: { project: ShownProject; onClose: () => void }) {
  const add = useOperationChange('projectUsers.create')
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<MemberRole>('member')
  return (
    <FormDialog
      title="Add a person"
      submit="Add"
      isWorking={add.isPending}
      error={add.error}
      onClose={onClose}
      onSubmit={() => add.mutate({ project_id: project.id, email, role }, { onSuccess: onClose })}
    >
      <FirstField
        label="E-mail"
        description="Of somebody who has signed in here before."
        value={email}
        onChange={setEmail}
      />
      <RoleField role={role} onChange={setRole} />
    </FormDialog>
  )
}

interface RemovePersonProps {
  project: ShownProject
  user: ProjectUser
  onClose: () => void
}

function RemovePerson({ project, user, onClose }: RemovePersonProps) {
  const remove = useOperationChange('projectUsers.delete')
  const of = { project_id: project.id, user_id: user.id }
  return (
    <EndDialog title={`Remove ${nameOf(user)}?`} confirm="Remove member" of={of} change={remove} onClose={onClose}>
      <p>The person’s own keys in this project stop working at once. A group may still bring the person in.</p>
    </EndDialog>
  )
}
