/**
 * The root component: it shows the sign-in page to a visitor, and the console's pages to a person who signed in.
 */

import { Loader } from '@mantine/core'
import { lazy, Suspense } from 'react'
import type { ConsoleConfig } from '@gateway/contracts/console-config'
import { ConfigContext } from './gateway/use-caller.ts'
import type { Session } from './session/session.ts'
import { SignInPage } from './pages/sign-in/sign-in-page.tsx'
import { SessionContext, useSessionState } from './session/use-session.ts'
import classes from './app.module.css'

const Shell = lazy(() => import('./shell/shell.tsx'))

export function App({ config, session }: { config: ConsoleConfig; session: Session }) {
  return (
    <ConfigContext value={config}>
      <SessionContext value={session}>
        <Suspense fallback={<SigningIn />}>
          <Entrance />
        </Suspense>
      </SessionContext>
    </ConfigContext>
  )
}

function Entrance() {
  const state = useSessionState()
  switch (state.kind) {
    case 'opening':
      return <SigningIn />
    case 'signed-out':
      return <SignInPage problem={state.problem} />
    case 'signed-in':
      return <Shell />
  }
}

function SigningIn() {
  return (
    <main className={classes.ground} aria-busy="true">
      <Loader size="sm" aria-hidden="true" />
      <p role="status" className="quiet">
        Signing you in…
      </p>
    </main>
  )
}
