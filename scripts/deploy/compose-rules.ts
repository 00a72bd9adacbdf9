/**
 * Checks `docker-compose.yml` against the Compose Specification's schema, which refuses unknown fields, and against its references.
 * Those are variables of the example environment, environments of services, mounted files, targets of the Dockerfile, conditions
 * that can come true, volumes and networks.
 */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parseDocument } from 'yaml'
import { problemsOfEnvironment, type ServiceName, serviceNames } from './service-environment.ts'
import { describe, SCHEMAS, type Schema } from './validate-manifests.ts'

const ROOT = join(import.meta.dirname, '../..')
const EXAMPLE_ENVIRONMENT = 'deploy/compose/example.env'

export interface ComposeService {
  image?: string
  build?: { dockerfile: string; target: string }
  command?: string[]
  environment?: Record<string, string>
  volumes?: string[]
  ports?: string[]
  networks?: string[]
  network_mode?: string
  depends_on?: Record<string, { condition: string }> | string[]
  healthcheck?: { start_interval?: string }
  stop_grace_period?: string
  stop_signal?: string
}
export interface Compose {
  services: Record<string, ComposeService>
  volumes: Record<string, object>
  networks: Record<string, object>
}

/** `text` as the engine sees it once merge keys and aliases are resolved. */
export function readCompose(text: string): Compose {
  const document = parseDocument(text, { merge: true })
  if (document.errors.length > 0) throw document.errors[0]!
  return document.toJS({ maxAliasCount: -1 }) as Compose
}

export function problemsOfCompose(text: string): string[] {
  const compose = readCompose(text)
  const invalid = schemaProblems(compose)
  if (invalid.length > 0) return invalid
  return [
    ...variableProblems(text),
    ...Object.entries(compose.services).flatMap(([name, service]) => {
      return [
        ...environmentProblems(name, service),
        ...mountProblems(service, compose),
        ...buildProblems(service),
        ...dependencyProblems(service, compose),
        ...stopProblems(service),
        ...engineProblems(service),
      ].map((problem) => `${name}: ${problem}`)
    }),
  ]
}

const validate = new Ajv2020({ strict: false, allErrors: true, validateFormats: false }).compile(
  JSON.parse(readFileSync(join(SCHEMAS, 'compose.json'), 'utf8')) as Schema,
)

function schemaProblems(compose: Compose): string[] {
  return validate(compose) ? [] : (validate.errors ?? []).map(describe)
}

/** Every variable is in the example, and none is there for nothing. */
function variableProblems(text: string): string[] {
  const code = text.replaceAll(/^\s*#.*$/gm, '')
  const used = new Set([...code.matchAll(/\$\{([A-Z_]+)[^}]*\}/g)].map(([, name]) => name!))
  const example = readFileSync(join(ROOT, EXAMPLE_ENVIRONMENT), 'utf8')
  const known = new Set([...example.matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name!))
  return [
    ...[...used.difference(known)].map((name) => `${name} is not in ${EXAMPLE_ENVIRONMENT}`),
    ...[...known.difference(used)].map((name) => `${name} in ${EXAMPLE_ENVIRONMENT} is used nowhere`),
  ]
}

function environmentProblems(name: string, { environment = {} }: ComposeService): string[] {
  if (!(serviceNames as string[]).includes(name)) return []
  const filledIn = Object.entries(environment).map(([variable, value]) => {
    return [variable, value.replaceAll(/\$\{[^}]*\}/g, 'kq7Jm2vX9rT4wB8nK1sY6dF3gH5zL0pCe')] as const
  })
  return problemsOfEnvironment(name as ServiceName, Object.fromEntries(filledIn))
}

function mountProblems({ volumes = [], environment = {}, networks = [] }: ComposeService, compose: Compose): string[] {
  const mounts = volumes.map((volume) => volume.split(':') as [source: string, target: string])
  const config = environment['GATEWAY_CONFIG']
  const holder = mounts.find(([, target]) => config?.startsWith(`${target}/`))
  return [
    ...mounts.flatMap(([source]) => {
      if (!source.startsWith('.')) return source in compose.volumes ? [] : [`there is no volume ${source}`]
      return existsSync(join(ROOT, source)) ? [] : [`mounts ${source}, which does not exist`]
    }),
    ...networks.filter((network) => !(network in compose.networks)).map((network) => `there is no network ${network}`),
    ...(config !== undefined && !(holder && existsSync(join(ROOT, config.replace(holder[1], holder[0]))))
      ? [`reads ${config}, which nothing mounts`]
      : []),
  ]
}

function buildProblems({ build, image }: ComposeService): string[] {
  if (image === undefined || /:(?:latest)?$|^[^:]+$/.test(image)) return [`its image ${image} has no version`]
  if (!build) return []
  const dockerfile = readFileSync(join(ROOT, build.dockerfile), 'utf8')
  return new RegExp(`^FROM \\S+ AS ${build.target}$`, 'm').test(dockerfile)
    ? []
    : [`there is no target ${build.target}`]
}

function dependencyProblems({ depends_on = {}, network_mode }: ComposeService, compose: Compose): string[] {
  const conditions = Array.isArray(depends_on)
    ? depends_on.map((name) => [name, 'service_started'] as const)
    : Object.entries(depends_on).map(([name, { condition }]) => [name, condition] as const)
  const other = network_mode?.startsWith('service:') ? network_mode.slice('service:'.length) : undefined
  const names = [...conditions.map(([name]) => name), ...(other === undefined ? [] : [other])]
  return [
    ...names.filter((name) => !compose.services[name]).map((name) => `there is no service ${name}`),
    ...conditions
      .filter(([name, condition]) => condition === 'service_healthy' && !reportsHealth(compose.services[name]))
      .map(([name]) => `waits for ${name} to be healthy, which never says so`),
  ]
}

/** Our images say so themselves (HEALTHCHECK in the Dockerfile). */
function reportsHealth(service: ComposeService | undefined): boolean {
  return service?.healthcheck !== undefined || (serviceNames as string[]).includes(service?.build?.target ?? '')
}

function stopProblems({ environment = {}, stop_grace_period = '10s' }: ComposeService): string[] {
  const neededMs = Number(environment['DRAIN_MS'] ?? 0) + Number(environment['STOP_NOTICE_MS'] ?? 0)
  return Number.parseInt(stop_grace_period, 10) * 1000 > neededMs ? [] : ['is killed before it has stopped']
}

function engineProblems({ healthcheck }: ComposeService): string[] {
  return healthcheck?.start_interval === undefined ? [] : ['has start_interval, which engines before 25 refuse']
}
