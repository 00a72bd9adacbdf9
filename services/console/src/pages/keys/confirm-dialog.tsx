import { Button, Group, Modal } from '@mantine/core'
import type { ReactNode } from 'react'

export interface ConfirmDialogProps {
  opened: boolean
  title: string
  confirm: string
  isWorking: boolean
  isDangerous?: boolean
  onCancel: () => void
  onConfirm: () => void
  children: ReactNode
}

/** Asks before what cannot be undone. Opens on the way out: the focus is on Cancel. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { opened, title, confirm, isWorking, isDangerous = false, onCancel, onConfirm, children } = props
  return (
    <Modal
      radius="lg"
      padding="lg"
      opened={opened}
      onClose={onCancel}
      title={title}
      lockScroll={false}
      centered
      withCloseButton={false}
    >
      <p>{children}</p>
      <Group mt="lg" gap="sm" justify="flex-end">
        <Button variant="default" data-autofocus onClick={onCancel}>
          Cancel
        </Button>
        <Button color={isDangerous ? 'red.8' : undefined} loading={isWorking} onClick={onConfirm}>
          {confirm}
        </Button>
      </Group>
    </Modal>
  )
}
