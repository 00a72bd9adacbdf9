import { createContext, use } from 'react'
import type { ConsoleConfig } from '@gateway/contracts/console-config'
import { useSession } from '../session/use-session.ts'
import type { Caller } from './send-request.ts'

export const ConfigContext = createContext<ConsoleConfig | null>(null)

export function useConfig(): ConsoleConfig {
  const config = use(ConfigContext)
  if (!config) throw new Error('a part of the console is used outside of its configuration')
  return config
}

/** A getter reads the token for each request, since a new sign-in replaces it. */
export function useCaller(): Caller {
  const session = useSession()
  const { gatewayUrl } = useConfig()
  return {
    gatewayUrl,
    get token() {
      return session.token
    },
    onTokenAccepted: () => session.tokenAccepted(),
    onTokenRefused: () => session.end(),
  }
}
