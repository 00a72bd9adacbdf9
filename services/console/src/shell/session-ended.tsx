import { Button, Modal } from '@mantine/core'
import { useSession, useSessionState } from '../session/use-session.ts'

/** Over the page that was shown, which is shown again after signing in. */
export function SessionEnded() {
  const session = useSession()
  const state = useSessionState()
  return (
    <Modal
      radius="lg"
      padding="lg"
      opened={state.kind === 'signed-in' && state.ended}
      onClose={() => undefined}
      title="Your session has ended"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
      lockScroll={false}
      centered
    >
      <p>For safety a sign-in lasts for a limited time. Sign in again and you are back on this page.</p>
      <Button mt="lg" fullWidth data-autofocus onClick={() => void session.signIn()}>
        Sign in again
      </Button>
    </Modal>
  )
}
