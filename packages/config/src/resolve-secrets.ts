/**
 * A backend with its `${NAME}`s replaced from the environment. The router's alone: no other service needs, or should
 * ever hold, a backend's credentials.
 */

import { backendUrl, PLACEHOLDER, type BackendConfig } from '@gateway/contracts/config'
import { ConfigError, type LocatedProblem } from './config-error.ts'

/** Throws a `ConfigError` that names each missing variable, and never a value. */
export function resolveSecrets(backend: BackendConfig, environment: NodeJS.ProcessEnv): BackendConfig {
  const problems: LocatedProblem[] = []
  const resolve = (text: string, field: string) =>
    text.replaceAll(PLACEHOLDER, (placeholder, name: string) => {
      const value = environment[name]
      if (value) return value
      const message = `the environment variable ${name} is not set; set it for the router, or do not refer to it`
      problems.push({ field, message })
      return placeholder
    })

  const url = resolve(backend.url, 'url')
  const headers = Object.fromEntries(
    Object.entries(backend.headers).map(([name, value]) => [name, resolve(value, `headers.${name}`)]),
  )
  const apiKey = backend.apiKey === undefined ? undefined : resolve(backend.apiKey, 'apiKey')
  if (problems.length === 0 && !backendUrl.safeParse(url).success) {
    problems.push({ field: 'url', message: `is not an http or https address once ${backend.url} is resolved` })
  }
  if (problems.length > 0) throw new ConfigError(`backend ${backend.id}`, problems)
  return { ...backend, url, headers, ...(apiKey === undefined ? {} : { apiKey }) }
}
