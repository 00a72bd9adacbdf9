/**
 * The operators' kinds that the chart and its companions use, as definitions for an API server, from `deploy/schemas/`.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Schema, SCHEMAS } from '../../../scripts/deploy/validate-manifests.ts'

const FILES = ['prometheus-operator.json', 'gateway-api.json', 'keda.json']

export function customResources(): object[] {
  return FILES.flatMap((file) => {
    const { kinds, definitions } = JSON.parse(readFileSync(join(SCHEMAS, file), 'utf8')) as {
      kinds: Record<string, string>
      definitions: Record<string, Schema>
    }
    return Object.entries(kinds).map(([kind, definition]) => definitionOf(kind, opened(definitions[definition]!)))
  })
}

/** `group/version/Kind` */
function definitionOf(path: string, schema: Schema): object {
  const [group, version, kind] = path.split('/') as [string, string, string]
  const singular = kind.toLowerCase()
  const plural = `${singular}s`
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      annotations: { 'api-approved.kubernetes.io': 'unapproved, a copy without descriptions' },
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular, listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  }
}

/** Our copies are closed against unknown fields; a server does that itself, and refuses a definition that says so. */
function opened(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === 'additionalProperties' && value === false ? undefined : value,
  ) as Schema
}
