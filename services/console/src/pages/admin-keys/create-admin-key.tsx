import { useState } from 'react'
import { EXPIRIES, readExpiry } from '../../core/key-limits.ts'
import { useOperationChange } from '../../gateway/administration.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { ChoiceField, FirstField } from '../../parts/form-fields.tsx'

interface CreateAdminKeyProps {
  onClose: () => void
  onMade: (made: { name: string; value: string }) => void
}

const USUAL_EXPIRY = '90'

export function CreateAdminKey({ onClose, onMade }: CreateAdminKeyProps) {
  const create = useOperationChange('adminKeys.create')
  const [name, setName] = useState('')
  const [expiry, setExpiry] = useState(USUAL_EXPIRY)

  function submit(): void {
    create.mutate(
      { name, ...readExpiry(expiry) },
      {
        onSuccess({ value }) {
          onMade({ name, value })
          onClose()
        },
      },
    )
  }

  return (
    <FormDialog
      title="Create an admin key"
      submit="Create"
      isWorking={create.isPending}
      error={create.error}
      onSubmit={submit}
      onClose={onClose}
    >
      <FirstField label="Name" description="The program or the team that uses it" value={name} onChange={setName} />
      <ChoiceField label="Expires" options={EXPIRIES} value={expiry} onChange={setExpiry} />
    </FormDialog>
  )
}
