/**
 * A backend with its `${NAME}`s replaced from the environment. The router's alone: no other service needs, or should
 * ever hold, a backend's credentials.
 */

import { backendUrl, PLACEHOLDER, type BackendConfig } from '@gateway/contracts/config'
import { ConfigError, writePath, type LocatedProblem } from './config-error.ts'
import type { LoadedConfig } from './load-config.ts'

/** A header of HTTP holds no other characters; a secret that was read from a file often ends with a line break. */
const HEADER_TEXT = /^[\t\x20-\x7e\x80-\xff]*$/

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

  const refuseUnsendable = (value: string, field: string) => {
    if (HEADER_TEXT.test(value)) return
    const message =
      'holds a line break or another character that no HTTP header may have, in the file or in its variable'
    problems.push({ field, message })
  }

  const url = resolve(backend.url, 'url')
  const headers = Object.fromEntries(
    Object.entries(backend.headers).map(([name, value]) => [name, resolve(value, `headers.${name}`)]),
  )
  const apiKey = backend.apiKey === undefined ? undefined : resolve(backend.apiKey, 'apiKey')
  for (const [name, value] of Object.entries(headers)) refuseUnsendable(value, `headers.${name}`)
  if (apiKey !== undefined) refuseUnsendable(apiKey, 'apiKey')
  if (problems.length === 0 && !backendUrl.safeParse(url).success) {
    problems.push({ field: 'url', message: `is not an http or https address once ${backend.url} is resolved` })
  }
  if (problems.length > 0) throw new ConfigError(`backend ${backend.id}`, problems)
  return { ...backend, url, headers, ...(apiKey === undefined ? {} : { apiKey }) }
}

/** The same for all of a file's backends, each problem at its line. The defaults have one that nobody names. */
export function unusableSecrets(
  { config, named, locate, inFile }: LoadedConfig,
  environment: NodeJS.ProcessEnv,
): LocatedProblem[] {
  if (!named.has('backends')) return []
  return config.backends.flatMap((backend, index) => {
    try {
      resolveSecrets(backend, environment)
      return []
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      const at = inFile(['backends', index])
      return error.problems.map(({ field, message }) => {
        return { field: `${writePath(at)}.${field}`, message, ...locate([...at, ...field.split('.')]) }
      })
    }
  })
}
