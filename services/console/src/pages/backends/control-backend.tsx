import type { ConfiguredModel } from '@gateway/contracts/administration/models'
import type { ListedBackend } from '@gateway/contracts/administration/ours'
import { describeCalls, describeLeft, modelsLeft, type BackendStep } from '../../core/backends-in-use.ts'
import { useOperationChange } from '../../gateway/administration.ts'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import { problemOf } from '../../parts/query-view.tsx'
import classes from './backends.module.css'

interface ControlBackendProps {
  backend: ListedBackend
  backends: readonly ListedBackend[]
  models: readonly ConfiguredModel[]
  step: BackendStep
  onClose: () => void
}

const STEPS: Record<BackendStep, { verb: string; effect: string }> = {
  eject: {
    verb: 'Eject',
    effect:
      'Until it is restored, it gets a request only as the last resort: where no other backend of the model is left.',
  },
  drain: { verb: 'Drain', effect: 'Until it is restored, it gets no new request at all.' },
  restore: { verb: 'Restore', effect: 'It takes requests again.' },
}

/** The effect of the step in numbers, which follow while the dialog is open. */
export function ControlBackend({ backend, backends, models, step, onClose }: ControlBackendProps) {
  const control = useOperationChange(`backends.${step}`)
  const { verb, effect } = STEPS[step]
  const left = step === 'restore' ? [] : modelsLeft(backend.id, backends, models)
  return (
    <ConfirmDialog
      opened
      title={`${verb} ${backend.id}?`}
      confirm={`${verb} backend`}
      isDangerous={step !== 'restore'}
      isWorking={control.isPending}
      onCancel={onClose}
      onConfirm={() => control.mutate({ backend_id: backend.id }, { onSuccess: onClose })}
    >
      <p>
        <strong>{describeCalls(step, backend.outstanding)}</strong> {effect}
      </p>
      {left.length > 0 && (
        <ul className={classes.left}>
          {left.map((row) => (
            <li key={row.models.join(' ')} data-is-none={row.left === 0}>
              {describeLeft(row)}
            </li>
          ))}
        </ul>
      )}
      {control.error && <ProblemNotice problem={problemOf(control.error)} />}
    </ConfirmDialog>
  )
}
