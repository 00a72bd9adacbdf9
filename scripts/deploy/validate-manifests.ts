/**
 * Checks Kubernetes manifests against the schemas of their kinds: types, required fields and unknown fields. A cluster would
 * ignore a misspelt field.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { parseAllDocuments } from 'yaml'

export const SCHEMAS = join(import.meta.dirname, '../../deploy/schemas')

export interface Schema {
  [keyword: string]: unknown
  definitions?: Record<string, Schema>
  properties?: Record<string, Schema>
  additionalProperties?: boolean | Schema
  items?: Schema
}

export interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> }
}

/** Returns every document of a rendering. Throws where the text is not YAML. */
export function readManifests(text: string): Manifest[] {
  return parseAllDocuments(text)
    .map((document) => {
      if (document.errors.length > 0) throw document.errors[0]!
      return document.toJS() as Manifest | null
    })
    .filter((manifest) => manifest !== null)
}

/** One line for each problem: `Deployment edge: /spec/replica is not a field`. */
export function problemsOf(manifests: readonly Manifest[]): string[] {
  return manifests.flatMap((manifest) => {
    const called = `${manifest.kind} ${manifest.metadata?.name}`
    const validate = validatorOf(`${manifest.apiVersion}/${manifest.kind}`)
    if (!validate) return [`${called}: nobody knows the schema of ${manifest.apiVersion}/${manifest.kind}`]
    if (validate(manifest)) return []
    return (validate.errors ?? []).map((error) => `${called}: ${describe(error)}`)
  })
}

export function describe({ instancePath, keyword, params, message }: ErrorObject): string {
  if (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties') {
    const { additionalProperty, unevaluatedProperty } = params as Record<string, string>
    return `${instancePath}/${additionalProperty ?? unevaluatedProperty} is not a field`
  }
  return `${instancePath || '/'} ${message}`
}

/** Patterns of Kubernetes are Go's, where a leading `(?i)` disregards case. */
const regExp = Object.assign(
  (pattern: string, flags: string) => {
    const sensitive = pattern.replace('(?i)', '')
    return new RegExp(sensitive, sensitive === pattern ? flags : `${flags}i`)
  },
  { code: 'goRegExp' },
)

const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false, code: { regExp } })
const kinds = new Map<string, string>()
for (const file of ['kubernetes.json', 'prometheus-operator.json', 'gateway-api.json', 'keda.json']) {
  const { kinds: known, ...schema } = JSON.parse(readFileSync(join(SCHEMAS, file), 'utf8')) as Schema & {
    kinds: Record<string, string>
  }
  ajv.addSchema(schema, file)
  for (const [kind, definition] of Object.entries(known)) kinds.set(kind, `${file}#/definitions/${definition}`)
}

function validatorOf(kind: string): ValidateFunction | undefined {
  const reference = kinds.get(kind)
  return reference === undefined ? undefined : ajv.getSchema(reference)
}
