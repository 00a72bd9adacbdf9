import { Button, Group } from '@mantine/core'
import type { ProjectApiKey } from '@gateway/contracts/administration/projects'
import { useState } from 'react'
import { useOperationChange } from '../../gateway/administration.ts'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { EndDialog } from '../../parts/end-dialog.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import { problemOf } from '../../parts/query-view.tsx'
import type { NewValue } from './shown-once.tsx'
import type { ShownProject } from './use-project.ts'

interface KeyActionsProps {
  project: ShownProject
  apiKey: ProjectApiKey
  onEdit: () => void
  onRotated: (made: NewValue) => void
}

/** A personal account's developer key is revoked here, and changed by its owner alone. */
export function KeyActions({ project, apiKey, onEdit, onRotated }: KeyActionsProps) {
  const [confirming, setConfirming] = useState<'rotate' | 'revoke' | null>(null)
  const close = () => setConfirming(null)
  return (
    <Group gap={6} wrap="nowrap" justify="flex-end">
      {!project.personal && (
        <>
          <Button variant="default" size="compact-xs" aria-label={`Change ${apiKey.name}`} onClick={onEdit}>
            Change
          </Button>
          <Button
            variant="default"
            size="compact-xs"
            aria-label={`Rotate ${apiKey.name}`}
            onClick={() => setConfirming('rotate')}
          >
            Rotate
          </Button>
        </>
      )}
      <Button
        variant="default"
        size="compact-xs"
        c="var(--bad)"
        aria-label={`Revoke ${apiKey.name}`}
        onClick={() => setConfirming('revoke')}
      >
        Revoke
      </Button>
      {confirming === 'rotate' && <RotateKey project={project} apiKey={apiKey} onClose={close} onRotated={onRotated} />}
      {confirming === 'revoke' && <RevokeKey project={project} apiKey={apiKey} onClose={close} />}
    </Group>
  )
}

interface ConfirmProps {
  project: ShownProject
  apiKey: ProjectApiKey
  onClose: () => void
}

function RotateKey({ project, apiKey, onClose, onRotated }: ConfirmProps & Pick<KeyActionsProps, 'onRotated'>) {
  const rotate = useOperationChange('apiKeys.rotate')
  const of = { project_id: project.id, api_key_id: apiKey.id }
  function confirm(): void {
    rotate.mutate(of, {
      onSuccess({ name, value }) {
        onRotated({ name, value })
        onClose()
      },
    })
  }
  return (
    <ConfirmDialog
      opened
      title={`Rotate ${apiKey.name}?`}
      confirm="Rotate key"
      isWorking={rotate.isPending}
      onCancel={onClose}
      onConfirm={confirm}
    >
      <p>
        You get a new value, and the present one stops working at once: applications are refused until they have the new
        one. Open requests finish. Name, limits and counts stay.
      </p>
      {rotate.error && <ProblemNotice problem={problemOf(rotate.error)} />}
    </ConfirmDialog>
  )
}

function RevokeKey({ project, apiKey, onClose }: ConfirmProps) {
  const of = { project_id: project.id, api_key_id: apiKey.id }
  const revoke = useOperationChange('apiKeys.delete')
  return (
    <EndDialog title={`Revoke ${apiKey.name}?`} confirm="Revoke key" of={of} change={revoke} onClose={onClose}>
      <p>
        <span className="mono">{apiKey.redacted_value}</span> stops working at once and for good.
      </p>
    </EndDialog>
  )
}
