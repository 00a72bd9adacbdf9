import { Button, Group, Modal } from '@mantine/core'
import type { ReactNode } from 'react'

export interface ConfirmDialogProps {
  opened: boolean
  title: string
  confirm: string
  isWorking: boolean
  isDangerous?: boolean
  /** The effect of the change is not known yet, so nobody can confirm it. */
  isWaiting?: boolean
  onCancel: () => void
  onConfirm: () => void
  children: ReactNode
}

/** Confirms a change that cannot be undone. The focus begins on Cancel. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { opened, title, confirm, isWorking, isDangerous, isWaiting, onCancel, onConfirm, children } = props
  return (
    <Modal opened={opened} onClose={onCancel} title={title}>
      <div>{children}</div>
      <Group mt="lg" gap="sm" justify="flex-end">
        <Button variant="default" data-autofocus onClick={onCancel}>
          Cancel
        </Button>
        <Button
          color={isDangerous ? 'red.8' : undefined}
          loading={isWorking}
          disabled={isWaiting ?? false}
          onClick={onConfirm}
        >
          {confirm}
        </Button>
      </Group>
    </Modal>
  )
}
