/**
 * Sign-in for a user without an identity provider: the development one, on loopback, two ports above the gateway. So its issuer
 * stays the same from start to start, and with it the accounts of those who signed in.
 */

import { startIdentityProvider } from '@gateway/stand-ins/identity-provider'
import type { StandaloneSettings } from './config.ts'

const PORTS_ABOVE = 2
/** The port is somebody else's, or beyond the last. */
const NOT_THERE = new Set<string | undefined>(['EADDRINUSE', 'EACCES', 'ERR_SOCKET_BAD_PORT'])

export async function startDevelopmentSignIn(
  { edge, publicBaseUrl, consoleUrl, dataDir }: StandaloneSettings,
  opening: AsyncDisposableStack,
): Promise<{ issuer: string; audience: string }> {
  const options = { audience: publicBaseUrl, consoleUrl, directory: dataDir }
  const port = edge.port === 0 ? 0 : edge.port + PORTS_ABOVE
  const provider = await startIdentityProvider({ ...options, port }).catch((error: NodeJS.ErrnoException) => {
    if (!NOT_THERE.has(error.code)) throw error
    return startIdentityProvider(options)
  })
  opening.use(provider)
  return { issuer: provider.issuer, audience: publicBaseUrl }
}
