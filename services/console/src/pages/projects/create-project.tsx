import { useState } from 'react'
import { useOperation, useOperationChange } from '../../gateway/administration.ts'
import { navigate } from '../../navigation.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { ChoiceField, FirstField } from '../../parts/form-fields.tsx'

export function CreateProject({ onClose }: { onClose: () => void }) {
  const plans = useOperation('plans.list', {})
  const create = useOperationChange('projects.create')
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState('')
  const offered = (plans.data?.data ?? []).filter((plan) => !plan.is_guest)
  const plan = chosen || offered.find((one) => one.is_default)?.id
  const input = { name, ...(plan && { plan }) }
  return (
    <FormDialog
      title="Create a project"
      submit="Create"
      isWorking={create.isPending}
      error={create.error}
      onClose={onClose}
      onSubmit={() => create.mutate(input, { onSuccess: ({ id }) => navigate(`/projects/${id}`) })}
    >
      <FirstField label="Name" value={name} onChange={setName} />
      <ChoiceField label="Plan" options={offered.map(({ id }) => id)} value={plan ?? ''} onChange={setChosen} />
    </FormDialog>
  )
}
