import { Button, Group, VisuallyHidden } from '@mantine/core'
import type { ServiceAccount } from '@gateway/contracts/administration/projects'
import { useState } from 'react'
import { formatDate } from '../../core/format.ts'
import { EXPIRIES, readExpiry } from '../../core/key-limits.ts'
import { useOperationChange, useOperationPages } from '../../gateway/administration.ts'
import { Card } from '../../parts/card.tsx'
import { EndDialog } from '../../parts/end-dialog.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { ChoiceField, FirstField } from '../../parts/form-fields.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { RowButton } from '../../parts/row-button.tsx'
import type { NewValue } from './shown-once.tsx'
import type { ProjectRights, ShownProject } from './use-project.ts'

interface ServiceAccountsProps {
  project: ShownProject
  rights: ProjectRights
  onMade: (made: NewValue) => void
}

type Open = { kind: 'create' } | { kind: 'key' | 'delete'; account: ServiceAccount } | null

export function ServiceAccounts({ project, rights, onMade }: ServiceAccountsProps) {
  const list = useOperationPages('serviceAccounts.list', { project_id: project.id, limit: 25 })
  const [open, setOpen] = useState<Open>(null)
  const close = () => setOpen(null)
  const done = (made: NewValue) => {
    onMade(made)
    close()
  }
  return (
    <Card
      title="Service accounts"
      aside={
        rights.manages && (
          <Button variant="default" size="xs" onClick={() => setOpen({ kind: 'create' })}>
            Create service account
          </Button>
        )
      }
    >
      <PagedTable
        list={list}
        empty="None. A service account owns keys that outlive a person’s membership."
        label="Service accounts by age"
        name={{ title: 'Name', of: ({ name }) => name, keyOf: ({ id }) => id }}
        columns={[
          { title: 'Created', cell: ({ created_at: at }) => formatDate(new Date(at * 1_000).toISOString()) },
          {
            title: <VisuallyHidden>Changes</VisuallyHidden>,
            isFigure: true,
            cell: (account) =>
              rights.manages && (
                <Group gap={6} wrap="nowrap" justify="flex-end">
                  <RowButton act="Add key to" of={account.name} onClick={() => setOpen({ kind: 'key', account })} />
                  <RowButton
                    act="Delete"
                    of={account.name}
                    isDangerous
                    onClick={() => setOpen({ kind: 'delete', account })}
                  />
                </Group>
              ),
          },
        ]}
      />
      {open?.kind === 'create' && <CreateServiceAccount project={project} onClose={close} onMade={done} />}
      {open?.kind === 'key' && <AddKey project={project} account={open.account} onClose={close} onMade={done} />}
      {open?.kind === 'delete' && <DeleteServiceAccount project={project} account={open.account} onClose={close} />}
    </Card>
  )
}

interface DialogProps {
  project: ShownProject
  onClose: () => void
  onMade: (made: NewValue) => void
}

function CreateServiceAccount({ project, onClose, onMade }: DialogProps) {
  const create = useOperationChange('serviceAccounts.create')
  const [name, setName] = useState('')
  const [expiry, setExpiry] = useState('')
  return (
    <FormDialog
      title="Create a service account"
      submit="Create"
      isWorking={create.isPending}
      error={create.error}
      onClose={onClose}
      onSubmit={() =>
        create.mutate(
          { project_id: project.id, name, ...readExpiry(expiry) },
          { onSuccess: ({ api_key: key }) => key && onMade({ name, value: key.value }) },
        )
      }
    >
      <NameAndExpiry {...{ name, setName, expiry, setExpiry }} />
    </FormDialog>
  )
}

function AddKey({ project, account, onClose, onMade }: DialogProps & { account: ServiceAccount }) {
  const create = useOperationChange('serviceAccounts.createKey')
  const [name, setName] = useState('')
  const [expiry, setExpiry] = useState('')
  return (
    <FormDialog
      title={`Add a key to ${account.name}`}
      submit="Create key"
      isWorking={create.isPending}
      error={create.error}
      onClose={onClose}
      onSubmit={() =>
        create.mutate(
          { project_id: project.id, service_account_id: account.id, name, ...readExpiry(expiry) },
          { onSuccess: ({ value }) => onMade({ name, value }) },
        )
      }
    >
      <NameAndExpiry {...{ name, setName, expiry, setExpiry }} />
    </FormDialog>
  )
}

interface NameAndExpiryProps {
  name: string
  setName: (name: string) => void
  expiry: string
  setExpiry: (expiry: string) => void
}

function NameAndExpiry({ name, setName, expiry, setExpiry }: NameAndExpiryProps) {
  return (
    <>
      <FirstField label="Name" value={name} onChange={setName} />
      <ChoiceField label="Its key expires" options={EXPIRIES} value={expiry} onChange={setExpiry} />
    </>
  )
}

function DeleteServiceAccount({
  project,
  account,
  onClose,
}: Omit<DialogProps, 'onMade'> & { account: ServiceAccount }) {
  const remove = useOperationChange('serviceAccounts.delete')
  const of = { project_id: project.id, service_account_id: account.id }
  return (
    <EndDialog
      title={`Delete ${account.name}?`}
      confirm="Delete service account"
      of={of}
      change={remove}
      onClose={onClose}
    >
      <p>All keys of the service account stop working at once and for good.</p>
    </EndDialog>
  )
}
