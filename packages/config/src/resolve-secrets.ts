/**
 * Backends, webhooks and exports with their `${NAME}`s replaced from the environment. Those of backends are the router's alone: no
 * other service needs, or should ever hold, a backend's credentials. The others are metering's.
 */

import type { ConfigPath } from '@gateway/contracts/check-config'
import { backendUrl, PLACEHOLDER, type BackendConfig } from '@gateway/contracts/config'
import type { ExportConfig } from '@gateway/contracts/exports'
import { faultOfWebhookSecret, faultOfWebhookUrl, type WebhookConfig } from '@gateway/contracts/webhooks'
import { ConfigError, writePath, type LocatedProblem } from './config-error.ts'
import type { LoadedConfig } from './load-config.ts'

/** A header of HTTP holds no other characters; a secret that was read from a file often ends with a line break. */
const HEADER_TEXT = /^[\t\x20-\x7e\x80-\xff]*$/

/** Throws a `ConfigError` that names each missing variable, and never a value. */
export function resolveSecrets(backend: BackendConfig, environment: NodeJS.ProcessEnv): BackendConfig {
  const problems: LocatedProblem[] = []
  const resolve = resolver('the router', environment, problems)

  const url = resolve(backend.url, 'url')
  const headers = Object.fromEntries(
    Object.entries(backend.headers).map(([name, value]) => [name, resolve(value, `headers.${name}`)]),
  )
  const apiKey = backend.apiKey === undefined ? undefined : resolve(backend.apiKey, 'apiKey')
  for (const [name, value] of Object.entries(headers)) refuseUnsendable(value, `headers.${name}`, problems)
  if (apiKey !== undefined) refuseUnsendable(apiKey, 'apiKey', problems)
  if (problems.length === 0 && !backendUrl.safeParse(url).success) {
    problems.push({ field: 'url', message: `is not an http or https address once ${backend.url} is resolved` })
  }
  if (problems.length > 0) throw new ConfigError(`backend ${backend.id}`, problems)
  return { ...backend, url, headers, ...(apiKey === undefined ? {} : { apiKey }) }
}

/** Throws a `ConfigError`, as `resolveSecrets`. */
export function resolveWebhook(webhook: WebhookConfig, environment: NodeJS.ProcessEnv): WebhookConfig {
  const problems: LocatedProblem[] = []
  const resolve = resolver('metering', environment, problems)
  const url = resolve(webhook.url, 'url')
  const secrets = webhook.secrets.map((secret) => resolve(secret, 'secret'))
  if (problems.length === 0) {
    const fault = faultOfWebhookUrl(url, webhook.allowPrivate)
    if (fault) problems.push({ field: 'url', message: fault })
    const unusable = secrets.map(faultOfWebhookSecret).find((found) => found !== null)
    if (unusable) problems.push({ field: 'secret', message: unusable })
  }
  if (problems.length > 0) throw new ConfigError(`webhook ${webhook.id}`, problems)
  return { ...webhook, url, secrets }
}

/** Throws a `ConfigError`, as `resolveSecrets`. */
export function resolveExport(config: ExportConfig, environment: NodeJS.ProcessEnv): ExportConfig {
  if (config.token === undefined) return config
  const problems: LocatedProblem[] = []
  const token = resolver('metering', environment, problems)(config.token, 'token')
  refuseUnsendable(token, 'token', problems)
  if (problems.length > 0) throw new ConfigError(`export ${config.id}`, problems)
  return { ...config, token }
}

function refuseUnsendable(value: string, field: string, problems: LocatedProblem[]): void {
  if (HEADER_TEXT.test(value)) return
  const message = 'holds a line break or another character that no HTTP header may have, in the file or in its variable'
  problems.push({ field, message })
}

function resolver(reader: string, environment: NodeJS.ProcessEnv, problems: LocatedProblem[]) {
  return (text: string, field: string) =>
    text.replaceAll(PLACEHOLDER, (placeholder, name: string) => {
      const value = environment[name]
      if (value) return value
      const message = `the environment variable ${name} is not set; set it for ${reader}, or do not refer to it`
      problems.push({ field, message })
      return placeholder
    })
}

/** The sections of the file whose `${NAME}`s a process resolves. */
export type ResolvedSection = 'backends' | 'webhooks' | 'exports'

/** Each problem at its line. The default backends have one that nobody names. */
export function unusableSecrets(
  loaded: LoadedConfig,
  environment: NodeJS.ProcessEnv,
  sections: readonly ResolvedSection[] = ['backends', 'webhooks', 'exports'],
): LocatedProblem[] {
  const { config, named } = loaded
  const backends = sections.includes('backends') && named.has('backends') ? config.backends : []
  const webhooks = sections.includes('webhooks') ? (config.webhooks ?? []) : []
  const exports = sections.includes('exports') ? (config.exports ?? []) : []
  return [
    ...backends.flatMap((backend, index) =>
      problemsOf(loaded, ['backends', index], () => resolveSecrets(backend, environment)),
    ),
    ...webhooks.flatMap((webhook, index) =>
      problemsOf(loaded, ['webhooks', index], () => resolveWebhook(webhook, environment)),
    ),
    ...exports.flatMap((each, index) => problemsOf(loaded, ['exports', index], () => resolveExport(each, environment))),
  ]
}

function problemsOf({ locate, inFile }: LoadedConfig, path: ConfigPath, resolve: () => unknown): LocatedProblem[] {
  try {
    resolve()
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const at = inFile(path)
    return error.problems.map(({ field, message }) => {
      return { field: `${writePath(at)}.${field}`, message, ...locate([...at, ...field.split('.')]) }
    })
  }
}
