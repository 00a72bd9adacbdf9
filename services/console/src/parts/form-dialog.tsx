import { Button, Group, Modal } from '@mantine/core'
import type { ReactNode, SyntheticEvent } from 'react'
import { ProblemNotice } from './problem-notice.tsx'
import { problemOf } from './query-view.tsx'

export interface FormDialogProps {
  title: string
  submit: string
  isWorking: boolean
  error: Error | null
  onSubmit: () => void
  onClose: () => void
  children: ReactNode
}

/** A form over the page. Mount it to open it, so that its fields begin afresh each time. */
export function FormDialog({ title, submit, isWorking, error, onSubmit, onClose, children }: FormDialogProps) {
  function send(event: SyntheticEvent): void {
    event.preventDefault()
    onSubmit()
  }
  return (
    <Modal opened onClose={onClose} title={title}>
      <form onSubmit={send}>
        {children}
        {error && <ProblemNotice problem={problemOf(error)} />}
        <Group mt="lg" gap="sm" justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={isWorking}>
            {submit}
          </Button>
        </Group>
      </form>
    </Modal>
  )
}
