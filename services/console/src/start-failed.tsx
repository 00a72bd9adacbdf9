import { Button } from '@mantine/core'
import { ProblemNotice } from './parts/problem-notice.tsx'
import { Gate } from './session/gate.tsx'

/** Not even the console's own configuration could be read. */
export function StartFailed() {
  return (
    <Gate>
      <ProblemNotice
        problem={{
          title: 'The console could not be started',
          advice: 'The gateway does not answer. It may be restarting: try again in a moment.',
          code: 'UNREACHABLE',
          mayPass: true,
        }}
        action={<Button onClick={() => window.location.reload()}>Try again</Button>}
      />
    </Gate>
  )
}
