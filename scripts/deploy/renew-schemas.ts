/**
 * Writes `deploy/schemas/`: the schemas of the chart and the compose file, cut down to the kinds that they use. Run it when
 * a version moves; `deploy/schemas/README.md` says where the five arguments come from.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { SCHEMAS, type Schema } from './validate-manifests.ts'

const [kubernetesFolder, operatorFolder, composeFolder, gatewayApiFolder, kedaFolder] = process.argv.slice(2)
if (!kubernetesFolder || !operatorFolder || !composeFolder || !gatewayApiFolder || !kedaFolder) {
  throw new Error(
    'usage: renew-schemas.ts <strict Kubernetes schemas> <prometheus-operator module> <compose-go module> <gateway-api module> <keda module>',
  )
}

/** File of the strict Kubernetes schemas, by apiVersion and kind. */
const KINDS = {
  'apps/v1/Deployment': 'io.k8s.api.apps.v1.Deployment',
  'apps/v1/StatefulSet': 'io.k8s.api.apps.v1.StatefulSet',
  'autoscaling/v2/HorizontalPodAutoscaler': 'io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler',
  'networking.k8s.io/v1/Ingress': 'io.k8s.api.networking.v1.Ingress',
  'networking.k8s.io/v1/NetworkPolicy': 'io.k8s.api.networking.v1.NetworkPolicy',
  'policy/v1/PodDisruptionBudget': 'io.k8s.api.policy.v1.PodDisruptionBudget',
  'v1/ConfigMap': 'io.k8s.api.core.v1.ConfigMap',
  'v1/Service': 'io.k8s.api.core.v1.Service',
  'v1/ServiceAccount': 'io.k8s.api.core.v1.ServiceAccount',
}
const OPERATOR_RESOURCES = ['servicemonitors', 'prometheusrules']
const REF = /^(?:_definitions\.json)?#\/(?:definitions|\$defs)\//

writeKubernetes(kubernetesFolder)
writeCustomResources(
  'prometheus-operator.json',
  OPERATOR_RESOURCES.map((plural) =>
    join(operatorFolder, 'example', 'prometheus-operator-crd', `monitoring.coreos.com_${plural}.yaml`),
  ),
)
writeCustomResources('gateway-api.json', [
  join(gatewayApiFolder, 'config', 'crd', 'standard', 'gateway.networking.k8s.io_httproutes.yaml'),
])
writeCustomResources('keda.json', [join(kedaFolder, 'config', 'crd', 'bases', 'keda.sh_scaledobjects.yaml')])
const { $defs, ...compose } = JSON.parse(
  readFileSync(join(composeFolder, 'schema', 'compose-spec.json'), 'utf8'),
) as Schema
write('compose.json', withoutProse({ ...compose, definitions: $defs as Record<string, Schema> }))

function writeKubernetes(folder: string): void {
  const { $defs: definitions } = JSON.parse(readFileSync(join(folder, '_definitions.json'), 'utf8')) as {
    $defs: Record<string, Schema>
  }
  const kept: Record<string, Schema> = {}
  const keep = (name: string): void => {
    if (kept[name]) return
    const definition = definitions[name]
    if (!definition) throw new Error(`the schemas have no ${name}`)
    kept[name] = withoutProse(definition)
    for (const other of referencesOf(kept[name])) keep(other)
  }
  for (const name of Object.values(KINDS)) keep(name)
  write('kubernetes.json', { kinds: KINDS, definitions: sorted(kept) })
}

function writeCustomResources(target: string, files: string[]): void {
  const kinds: Record<string, string> = {}
  const definitions: Record<string, Schema> = {}
  for (const file of files) {
    const { spec } = parse(readFileSync(file, 'utf8')) as {
      spec: {
        group: string
        names: { kind: string }
        versions: { name: string; storage: boolean; schema: { openAPIV3Schema: Schema } }[]
      }
    }
    for (const { name, schema } of spec.versions.filter(({ storage }) => storage)) {
      kinds[`${spec.group}/${name}/${spec.names.kind}`] = spec.names.kind
      definitions[spec.names.kind] = closed(withoutProse(schema.openAPIV3Schema))
    }
  }
  write(target, { kinds, definitions })
}

/** Fields that the resource does not have are refused, as the API server does under strict validation. */
function closed(schema: Schema, isRoot = true): Schema {
  const properties = mapValues(schema.properties, (property) => closed(property, false))
  // Checked as every object's is.
  if (isRoot && properties) properties['metadata'] = { type: 'object' }
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties !== undefined
  return {
    ...schema,
    ...(properties && { properties }),
    ...(properties && !isOpen && { additionalProperties: false }),
    ...(schema.items && { items: closed(schema.items, false) }),
    ...(typeof schema.additionalProperties === 'object' && {
      additionalProperties: closed(schema.additionalProperties, false),
    }),
  }
}

/** Names and types alone: descriptions and rules with their messages are others' sentences. */
function withoutProse(schema: Schema): Schema {
  return JSON.parse(
    JSON.stringify(schema, (key, value: unknown) => {
      const isProse = (key === 'description' && typeof value === 'string') || key === 'x-kubernetes-validations'
      return isProse ? undefined : value
    }),
    (_, value: unknown) =>
      typeof value === 'string' && REF.test(value) ? value.replace(REF, '#/definitions/') : value,
  ) as Schema
}

function referencesOf(schema: Schema): string[] {
  return [...JSON.stringify(schema).matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g)].map(([, name]) => name!)
}

function mapValues<T, U>(record: Record<string, T> | undefined, map: (value: T) => U): Record<string, U> | undefined {
  return record && Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]))
}

function sorted<T>(record: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** One definition a line: small, and a change of version can be read. */
function write(file: string, schema: Schema): void {
  const { definitions = {}, ...rest } = schema
  const lines = Object.entries(definitions).map(
    ([name, definition]) => `${JSON.stringify(name)}: ${JSON.stringify(definition)}`,
  )
  const head = JSON.stringify(rest).slice(0, -1)
  const comma = head === '{' ? '' : ','
  writeFileSync(join(SCHEMAS, file), `${head}${comma}"definitions": {\n${lines.join(',\n')}\n}}\n`)
}
