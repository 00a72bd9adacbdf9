/**
 * The credential that each vendor takes. With an `apiKey` the key travels in a header. Without one, three vendors have
 * an identity of the machine, found by the vendor's own library. The profiles (`vendors/`) hold both. A library is
 * loaded only when a backend needs it.
 */

import type { BackendConfig } from '@gateway/contracts/config'
import { authenticationOf } from './index.ts'
import type { Credential } from '../credentials/credential.ts'

/** The vendor's header for the key; null where it is the dialect's. */
export function keyHeaders(backend: BackendConfig): Record<string, string> | null {
  const { keyHeaders: write } = authenticationOf(backend)
  return write && backend.apiKey ? write(backend.apiKey) : null
}

/** Null where the backend's headers say all. Throws a `ConfigError` where a setting is missing. */
export function openCredential(backend: BackendConfig, environment: NodeJS.ProcessEnv): Credential | null {
  const { identity } = authenticationOf(backend)
  if (!identity || backend.apiKey) return null
  let opened: Credential | null = null
  // The library takes a second to load. That is no part of the first call's time to connect.
  const opening = identity.load(backend, environment)()
  opening.catch(() => {})
  return {
    async authorize(call) {
      opened ??= await opening
      return opened.authorize(call)
    },
    renew: (refused) => opened?.renew(refused) ?? false,
    secrets: () => opened?.secrets() ?? [],
  }
}

/** The operator's next step when a credential is missing or refused. */
export function credentialAdvice(backend: BackendConfig): string {
  if (backend.apiKey) return 'replace its apiKey'
  const advice = authenticationOf(backend).identity?.advice
  return advice ? `${advice}, with the right to call the model; or give the backend an apiKey` : 'set its apiKey'
}
