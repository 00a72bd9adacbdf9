import { Button, Group, NativeSelect, TextInput, VisuallyHidden } from '@mantine/core'
import type { ProjectUser } from '@gateway/contracts/administration/members'
import { useState } from 'react'
import { formatDate } from '../../core/format.ts'
import { useOperation, useOperationChange, useOperationPages } from '../../gateway/administration.ts'
import { Card } from '../../parts/card.tsx'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { Ending } from '../../parts/ending.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import { problemOf } from '../../parts/query-view.tsx'
import { RowButton } from '../../parts/row-button.tsx'
import type { ProjectRights, ShownProject } from './use-project.ts'

export const MEMBER_ROLES = [
  { value: 'member', label: 'Member: sees it, and has keys of its own' },
  { value: 'owner', label: 'Owner: manages members and all keys' },
] as const
export type MemberRole = (typeof MEMBER_ROLES)[number]['value']

export function toRole(value: string): MemberRole {
  return value === 'owner' ? 'owner' : 'member'
}

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
      <TextInput
        label="E-mail"
        description="Of somebody who has signed in here before."
        required
        data-autofocus
        value={email}
        onChange={({ currentTarget: { value } }) => setEmail(value)}
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

interface RemovePersonProps {
  project: ShownProject
  user: ProjectUser
  onClose: () => void
}

function RemovePerson({ project, user, onClose }: RemovePersonProps) {
  const remove = useOperationChange('projectUsers.delete')
  const of = { project_id: project.id, user_id: user.id }
  const preview = useOperation('projectViews.preview', of, { isFresh: true })
  return (
    <ConfirmDialog
      opened
      title={`Remove ${nameOf(user)}?`}
      confirm="Remove member"
      isDangerous
      isWorking={remove.isPending}
      isWaiting={preview.isFetching}
      onCancel={onClose}
      onConfirm={() => remove.mutate(of, { onSuccess: onClose })}
    >
      <Ending preview={preview} />
      <p>The person’s own keys in this project stop working at once. A group may still bring the person in.</p>
      {remove.error && <ProblemNotice problem={problemOf(remove.error)} />}
    </ConfirmDialog>
  )
}
