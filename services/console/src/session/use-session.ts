import { createContext, use, useSyncExternalStore } from 'react'
import type { Session, SessionState } from './session.ts'

export const SessionContext = createContext<Session | null>(null)

export function useSession(): Session {
  const session = use(SessionContext)
  if (!session) throw new Error('a part of the console is used outside of its session')
  return session
}

export function useSessionState(): SessionState {
  const session = useSession()
  return useSyncExternalStore(session.subscribe, () => session.state)
}
