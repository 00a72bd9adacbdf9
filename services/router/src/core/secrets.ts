/**
 * `${NAME}` in a backend's settings, replaced from the environment. Only the router knows these secrets.
 */

import { PLACEHOLDER, type BackendConfig } from '@gateway/contracts/config'

export interface ResolvedBackend {
  config: BackendConfig
  /** Names that the environment does not have; where they stood is empty. */
  missing: string[]
}

export function resolveSecrets(config: BackendConfig, environment: Record<string, string | undefined>): ResolvedBackend {
  const missing: string[] = []
  const resolve = (text: string) =>
    text.replace(PLACEHOLDER, (_, name: string) => {
      const value = environment[name]
      if (value === undefined) missing.push(name)
      return value ?? ''
    })
  const headers = Object.fromEntries(Object.entries(config.headers).map(([name, value]) => [name, resolve(value)]))
  const apiKey = config.apiKey === undefined ? undefined : resolve(config.apiKey)
  return { config: { ...config, url: resolve(config.url), headers, ...(apiKey ? { apiKey } : { apiKey: undefined }) }, missing }
}
