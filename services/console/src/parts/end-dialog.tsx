import type { ReactNode } from 'react'
import { useOperation, type CallInput } from '../gateway/administration.ts'
import { ConfirmDialog } from './confirm-dialog.tsx'
import { Ending } from './ending.tsx'
import { ProblemNotice } from './problem-notice.tsx'
import { problemOf } from './query-view.tsx'

interface EndDialogProps<Of> {
  title: string
  confirm: string
  /** Names the end, for the change and its preview. */
  of: Of
  change: { isPending: boolean; error: Error | null; mutate(of: Of, options: { onSuccess: () => void }): void }
  /** Otherwise the dialog is open for as long as it is mounted. */
  opened?: boolean
  onClose: () => void
  /** The effect, in words. */
  children: ReactNode
}

/** Confirms a change that ends keys, and shows first how many it ends. */
export function EndDialog<Of extends CallInput<'projectViews.preview'>>(props: EndDialogProps<Of>) {
  const { title, confirm, of, change, opened = true, onClose, children } = props
  const preview = useOperation('projectViews.preview', of, { enabled: opened, isFresh: true })
  return (
    <ConfirmDialog
      opened={opened}
      title={title}
      confirm={confirm}
      isDangerous
      isWorking={change.isPending}
      isWaiting={preview.isFetching}
      onCancel={onClose}
      onConfirm={() => change.mutate(of, { onSuccess: onClose })}
    >
      <Ending preview={preview} />
      {children}
      {change.error && <ProblemNotice problem={problemOf(change.error)} />}
    </ConfirmDialog>
  )
}
