/**
 * How each vendor is told who we are. With an `apiKey` the key travels in a header. Without one, three vendors have an
 * identity of the machine, found by the vendor's own library. A library is loaded only when a backend needs it.
 */

import type { BackendConfig } from '@gateway/contracts/config'
import type { Vendor } from '@gateway/contracts/vendors'
import { ConfigError } from '@gateway/config/config-error'
import type { Credential } from './credential.ts'

/** Where the key goes elsewhere than the dialect says. */
const KEY_HEADERS: Partial<Record<Vendor, (key: string) => Record<string, string>>> = {
  // learn.microsoft.com/azure/ai-services/openai/reference, "Authentication", read in November 2026.
  azure: (key) => ({ 'api-key': key }),
}

type Load = (backend: BackendConfig, environment: NodeJS.ProcessEnv) => () => Promise<Credential>

const IDENTITIES: Partial<Record<Vendor, Load>> = {
  azure: () => async () => (await import('./entra.ts')).openCredential(),
  vertex: () => async () => (await import('./google.ts')).openCredential(),
  bedrock: (backend, environment) => {
    const region = awsRegion(backend, environment)
    return async () => (await import('./aws.ts')).openCredential({ region })
  },
}

/** The vendor's header for the key; null where it is the dialect's. */
export function keyHeaders({ vendor, apiKey }: BackendConfig): Record<string, string> | null {
  const header = vendor === undefined ? undefined : KEY_HEADERS[vendor]
  return header && apiKey ? header(apiKey) : null
}

/** Null where the backend's headers say all. Throws a `ConfigError` where a setting is missing. */
export function openCredential(backend: BackendConfig, environment: NodeJS.ProcessEnv): Credential | null {
  const { vendor, apiKey } = backend
  const load = vendor === undefined || apiKey ? undefined : IDENTITIES[vendor]
  if (!load) return null
  let opened: Credential | null = null
  // The library takes a second to load. That is no part of the first question's time to connect.
  const opening = load(backend, environment)()
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

/** How each library finds an identity. */
const IDENTITY_ADVICE: Partial<Record<Vendor, string>> = {
  azure: 'give this router an identity of Entra ID (AZURE_* variables, a workload or managed identity)',
  vertex: 'set GOOGLE_APPLICATION_CREDENTIALS, or run this router under a service account',
  bedrock: 'set AWS_* variables or a profile, or run this router under a role',
}

/** What an operator does about a credential that is missing or refused. */
export function credentialAdvice({ vendor, apiKey }: BackendConfig): string {
  if (apiKey) return 'replace its apiKey'
  const identity = vendor === undefined ? undefined : IDENTITY_ADVICE[vendor]
  return identity ? `${identity}, with the right to call the model; or give the backend an apiKey` : 'set its apiKey'
}

/** From the address, as AWS writes it, or from the environment. */
function awsRegion({ id, url }: BackendConfig, environment: NodeJS.ProcessEnv): string {
  const inHost = /\.([a-z]{2}(?:-[a-z]+)+-\d+)\.(?:amazonaws\.com|api\.aws)/.exec(new URL(url).hostname)?.[1]
  const region = inHost ?? environment['AWS_REGION'] ?? environment['AWS_DEFAULT_REGION']
  if (region) return region
  const message =
    'names no AWS region: use an address such as https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1, or set AWS_REGION'
  throw new ConfigError(`backend ${id}`, [{ field: 'url', message }])
}
