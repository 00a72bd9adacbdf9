import { NativeSelect, TextInput } from '@mantine/core'
import type { ProjectApiKey } from '@gateway/contracts/administration/projects'
import { useState } from 'react'
import { formatMoment } from '../../core/format.ts'
import { AS_IT_IS, EXPIRIES, readExpiry, readFigure } from '../../core/key-limits.ts'
import { useOperationChange } from '../../gateway/administration.ts'
import { FigureField } from '../../parts/figure-field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { ModelChoice } from './model-choice.tsx'
import type { NewValue } from './shown-once.tsx'
import type { ShownProject } from './use-project.ts'

export type KeyToEdit = ProjectApiKey | 'new'

interface EditKeyProps {
  project: ShownProject
  editing: KeyToEdit
  onClose: () => void
  onMade: (made: NewValue) => void
}

interface Fields {
  name: string
  expiry: string
  monthly: string
  requests: string
  tokens: string
  models: string[] | null
}

function fieldsOf(editing: KeyToEdit): Fields {
  if (editing === 'new') return { name: '', expiry: '', monthly: '', requests: '', tokens: '', models: null }
  return {
    name: editing.name,
    expiry: editing.expires_at === null ? '' : AS_IT_IS,
    monthly: String(editing.monthly_limit ?? ''),
    requests: String(editing.max_requests_per_1_minute ?? ''),
    tokens: String(editing.max_tokens_per_1_minute ?? ''),
    models: editing.models,
  }
}

/** Creates a named key, or changes the name and the limits of one. */
export function EditKey({ project, editing, onClose, onMade }: EditKeyProps) {
  const create = useOperationChange('apiKeys.create')
  const patch = useOperationChange('apiKeys.patch')
  const [fields, setFields] = useState(() => fieldsOf(editing))
  const change = (part: Partial<Fields>) => setFields((before) => ({ ...before, ...part }))
  const error = create.error ?? patch.error

  function submit(): void {
    const input = {
      project_id: project.id,
      name: fields.name,
      ...readExpiry(fields.expiry),
      monthly_limit: readFigure(fields.monthly),
      max_requests_per_1_minute: readFigure(fields.requests),
      max_tokens_per_1_minute: readFigure(fields.tokens),
      models: fields.models,
    }
    if (editing !== 'new') return patch.mutate({ ...input, api_key_id: editing.id }, { onSuccess: onClose })
    create.mutate(input, {
      onSuccess({ name, value }) {
        onMade({ name, value })
        onClose()
      },
    })
  }

  const expires = editing === 'new' ? null : editing.expires_at
  const kept = expires && {
    value: AS_IT_IS,
    label: `As it is: ${formatMoment(new Date(expires * 1_000).toISOString())}`,
  }
  return (
    <FormDialog
      title={editing === 'new' ? 'Create a key' : `Change ${editing.name}`}
      submit={editing === 'new' ? 'Create key' : 'Save'}
      isWorking={create.isPending || patch.isPending}
      error={error}
      onClose={onClose}
      onSubmit={submit}
    >
      <TextInput
        label="Name"
        required
        maxLength={256}
        data-autofocus
        value={fields.name}
        onChange={({ currentTarget: { value } }) => change({ name: value })}
      />
      <NativeSelect
        mt="md"
        label="Expires"
        data={[...(kept ? [kept] : []), ...EXPIRIES]}
        value={fields.expiry}
        onChange={({ currentTarget: { value } }) => change({ expiry: value })}
      />
      <FigureField
        label={project.unit === 'usd' ? 'US dollars a month' : 'Tokens of allowance a month'}
        step={project.unit === 'usd' ? '0.01' : '1'}
        value={fields.monthly}
        onChange={(monthly) => change({ monthly })}
      />
      <FigureField label="Requests a minute" value={fields.requests} onChange={(requests) => change({ requests })} />
      <FigureField label="Tokens a minute" value={fields.tokens} onChange={(tokens) => change({ tokens })} />
      <ModelChoice project={project.id} chosen={fields.models} onChange={(models) => change({ models })} />
    </FormDialog>
  )
}
