/**
 * Checks the environment that a deployment gives a service: it finds names that the service does not read, and values that it
 * refuses.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadProcessSettings as readEdge } from '../../services/edge/src/config.ts'
import { loadSettings as readKeys } from '../../services/keys/src/config.ts'
import { loadSettings as readMetering } from '../../services/metering/src/config.ts'
import { readDrainMs, readProcessSettings } from '../../services/router/src/config.ts'

const READERS = {
  edge: readEdge,
  router: (environment: NodeJS.ProcessEnv) => [readProcessSettings(environment), readDrainMs(environment)],
  keys: readKeys,
  metering: readMetering,
} as const

export type ServiceName = keyof typeof READERS
export const serviceNames = Object.keys(READERS) as ServiceName[]

/** Read by Node itself. */
const NODES_OWN = ['NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS']
/** Services read more variables by these. */
const SHARED_SOURCES = ['packages/service/src/tracing-settings.ts', 'packages/service/src/run-service.ts']
const ROOT = join(import.meta.dirname, '../..')

/** Samples of secrets that only a cluster has. */
const SAMPLES: Record<string, string> = {
  NATS_PASSWORD: 'c0ffee',
  REDIS_URL: 'redis://redis:6379',
  DATABASE_URL: 'postgres://gateway@postgres/gateway',
  KEYS_MASTER_SECRET: 'q7Jm2vX9rT4wB8nK1sY6dF3gH5zL0pCe',
}

/** `null` is a value from a secret. `$(NAME)` stands for another variable, as Kubernetes has it. */
export function problemsOfEnvironment(service: ServiceName, given: Record<string, string | null>): string[] {
  const values = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value ?? SAMPLES[name] ?? '']))
  const used = new Set<string>()
  const environment = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      value.replaceAll(/\$\(([A-Z_]+)\)/g, (_, other: string) => {
        used.add(other)
        return values[other] ?? ''
      }),
    ]),
  )
  const source = [`services/${service}/src/config.ts`, ...SHARED_SOURCES]
    .map((path) => readFileSync(join(ROOT, path), 'utf8'))
    .join('\n')
  const unread = Object.keys(given).filter(
    (name) => !used.has(name) && !NODES_OWN.includes(name) && !new RegExp(`\\b${name}\\b`).test(source),
  )
  const problems = unread.map((name) => `${service} does not read ${name}`)
  try {
    READERS[service](environment)
  } catch (error) {
    problems.push(`${service}: ${String(error)}`)
  }
  return problems
}
