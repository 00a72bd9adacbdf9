/**
 * Opens the console: its configuration, then its session, then the page.
 */

import './forbid-eval.ts'
import { Button } from '@mantine/core'
import { createRoot } from 'react-dom/client'
import './theme/fonts.css'
import './theme/styles.css'
import './theme-variables.css'
import './theme/global.css'
import { App } from './app.tsx'
import type { Problem } from './core/explain-problem.ts'
import { currentAddress } from './navigation.ts'
import { ProblemNotice } from './parts/problem-notice.tsx'
import { readConfig } from './read-config.ts'
import { Gate } from './pages/sign-in/gate.tsx'
import { openSession } from './session/session.ts'
import { Themed } from './theme/themed.tsx'

const UNREACHABLE: Problem = {
  title: 'The console could not be started',
  advice: 'The gateway does not respond. It may be restarting: try again in a moment.',
  code: 'UNREACHABLE',
  mayPass: true,
}
const BLOCKED: Problem = {
  title: 'The browser keeps nothing for this page',
  advice: 'Signing in needs that. Allow cookies and site data for this address, and try again.',
  code: 'STORAGE_BLOCKED',
  mayPass: true,
}

const root = createRoot(document.getElementById('root')!)

async function start(): Promise<void> {
  const config = await readConfig()
  // The identity provider sends people back to the one address that it knows.
  if (new URL(config.consoleUrl).origin !== window.location.origin) {
    window.location.replace(`${config.consoleUrl}${currentAddress()}`)
    return
  }
  const session = openSession(config)
  root.render(
    <Themed>
      <App config={config} session={session} />
    </Themed>,
  )
}

start().catch((error: unknown) => {
  console.error(error)
  const isBlocked = error instanceof DOMException && error.name === 'SecurityError'
  root.render(
    <Themed>
      <StartFailed isBlocked={isBlocked} />
    </Themed>,
  )
})

/** The console could not read its own configuration, or the browser blocks its storage. */
function StartFailed({ isBlocked }: { isBlocked: boolean }) {
  return (
    <Gate>
      <ProblemNotice
        problem={isBlocked ? BLOCKED : UNREACHABLE}
        action={<Button onClick={() => window.location.reload()}>Try again</Button>}
      />
    </Gate>
  )
}
