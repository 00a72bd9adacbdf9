/**
 * A valid value for a JSON schema, filled from a text where possible. It becomes the arguments of a simulated tool call, or the
 * response to a structured-output request.
 */

import { isObject, type JsonObject } from './refusal.ts'

const MAX_DEPTH = 8

const FORMATS: Record<string, string> = {
  date: '2026-01-15',
  'date-time': '2026-01-15T12:00:00Z',
  time: '12:00:00Z',
  email: 'someone@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
  ipv4: '192.0.2.1',
  hostname: 'example.com',
}

export function sampleFromSchema(schema: unknown, text: string): unknown {
  return sample(schema, { text, root: isObject(schema) ? schema : {} }, 0)
}

interface Source {
  text: string
  root: JsonObject
}

function sample(schema: unknown, source: Source, depth: number): unknown {
  if (!isObject(schema)) return subjectOf(source.text)
  if (depth > MAX_DEPTH) return null
  if (typeof schema['$ref'] === 'string') return sample(resolve(schema['$ref'], source.root), source, depth + 1)
  if ('const' in schema) return schema['const']
  if (Array.isArray(schema['enum']) && schema['enum'].length > 0) return mentioned(schema['enum'], source.text)
  if ('default' in schema) return schema['default']
  for (const union of ['anyOf', 'oneOf', 'allOf']) {
    const options = schema[union]
    if (Array.isArray(options) && options.length > 0) return sample(options[0], source, depth + 1)
  }
  return sampleOfType(schema, source, depth)
}

function sampleOfType(schema: JsonObject, source: Source, depth: number): unknown {
  const type = Array.isArray(schema['type'])
    ? schema['type'][0]
    : (schema['type'] ?? ('properties' in schema ? 'object' : 'string'))
  switch (type) {
    case 'object':
      return sampleObject(schema, source, depth)
    case 'array': {
      const length = Math.min(numberOr(schema['minItems'], 1), 100) || 1
      return Array.from({ length }, () => sample(schema['items'], source, depth + 1))
    }
    case 'integer':
    case 'number':
      return sampleNumber(schema, source.text, type === 'integer')
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return sampleString(schema, source.text)
  }
}

function sampleObject(schema: JsonObject, source: Source, depth: number): JsonObject {
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, sample(property, source, depth + 1)]),
  )
}

function sampleNumber(schema: JsonObject, text: string, integer: boolean): number {
  const found = Number(/-?\d+(?:\.\d+)?/.exec(text)?.[0] ?? 1)
  const minimum = numberOr(schema['minimum'], numberOr(schema['exclusiveMinimum'], -Infinity) + (integer ? 1 : 1e-6))
  const maximum = numberOr(schema['maximum'], numberOr(schema['exclusiveMaximum'], Infinity) - (integer ? 1 : 1e-6))
  const within = Math.min(Math.max(found, minimum), maximum)
  return integer ? Math.round(within) : within
}

function sampleString(schema: JsonObject, text: string): string {
  const format = FORMATS[String(schema['format'])]
  if (format !== undefined) return format
  const value = subjectOf(text).padEnd(numberOr(schema['minLength'], 0), '.')
  return value.slice(0, numberOr(schema['maxLength'], 200))
}

/** The text's subject: its names (`Paris`), else the text itself. */
function subjectOf(text: string): string {
  const names = text.match(/(?<=[\p{L}\p{N},] )\p{Lu}[\p{L}\p{N}-]+(?: \p{Lu}[\p{L}\p{N}-]+)*/gu)
  return names?.[0] ?? text.trim()
}

function mentioned(values: unknown[], text: string): unknown {
  const lower = text.toLowerCase()
  return values.find((value) => typeof value === 'string' && lower.includes(value.toLowerCase())) ?? values[0]
}

function resolve(reference: string, root: JsonObject): unknown {
  let at: unknown = root
  for (const step of reference.replace(/^#\/?/, '').split('/')) {
    if (step !== '') at = isObject(at) ? at[step] : undefined
  }
  return at
}

function numberOr(value: unknown, fallback: number): number {
  return typeof value === 'number' ? value : fallback
}
