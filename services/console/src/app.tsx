/**
 * What is shown: the way in for those who are not signed in, the pages for those who are.
 */

import { lazy, Suspense } from 'react'
import type { ConsoleConfig } from '@gateway/contracts/console-config'
import { ConfigContext } from './gateway/use-caller.ts'
import { Opening } from './session/opening.tsx'
import type { Session } from './session/session.ts'
import { SignInPage } from './session/sign-in-page.tsx'
import { SessionContext, useSessionState } from './session/use-session.ts'

const Shell = lazy(() => import('./shell/shell.tsx'))

export function App({ config, session }: { config: ConsoleConfig; session: Session }) {
  return (
    <ConfigContext value={config}>
      <SessionContext value={session}>
        <Suspense fallback={<Opening />}>
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
      return <Opening />
    case 'signed-out':
      return <SignInPage problem={state.problem} />
    case 'signed-in':
      return <Shell />
  }
}
