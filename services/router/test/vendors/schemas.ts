/**
 * Holds a request to its vendor's own description of requests: JSON schemas from the vendor's own SDK or source (`npm run write
 * schemas`). A vendor that publishes no description, and calls its address OpenAI's, is held to OpenAI's.
 */

import { readFileSync } from 'node:fs'
import { Ajv, type ValidateFunction } from 'ajv'
import type { Vendor } from '@gateway/contracts/vendors'
import type { Described } from './fixture.ts'
import { FIXTURES } from './fixtures.ts'

interface Description {
  /** With its day at the end. */
  source: string
  schema: { properties?: Record<string, object>; definitions?: Record<string, object> }
}

interface Written extends Description {
  readOn: string
}

const ajv = new Ajv({ strict: false, allErrors: false, discriminator: false })
const compiled = new Map<Described, ValidateFunction>()

function read(name: string): Description {
  const text = readFileSync(new URL(`schemas/${name}.json`, import.meta.url), 'utf8')
  const { source, readOn, schema } = JSON.parse(text) as Written
  return { source: `${source}, ${readOn}`, schema }
}

function descriptionOf(described: Described, asOpenAi: readonly string[] = []): Description {
  if (typeof described === 'string') return read(described)
  if ('schema' in described) return widened(read(described.schema), asOpenAi)
  const { source, members, types = {}, required = ['messages'] } = described
  const openai = read('openai').schema
  const names = members.split(/\s+/)
  const properties = Object.fromEntries(names.map((name) => [name, types[name] ?? openai.properties![name] ?? {}]))
  return { source, schema: { ...openai, properties, required, additionalProperties: false } as object }
}

/** Its definitions and OpenAI's have names of their own. */
function widened({ source, schema }: Description, asOpenAi: readonly string[]): Description {
  if (asOpenAi.length === 0) return { source, schema }
  const openai = read('openai').schema
  const own = Object.fromEntries(asOpenAi.map((name) => [name, renamed(openai.properties![name]!)]))
  const others = Object.entries(openai.definitions!).map(([name, one]) => [`openai.${name}`, renamed(one)])
  const definitions = { ...schema.definitions, ...(Object.fromEntries(others) as Record<string, object>) }
  return { source, schema: { ...schema, properties: { ...schema.properties, ...own }, definitions } }
}

function renamed(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('#/definitions/', '#/definitions/openai.')) as object
}

/** Where the description of the vendor's chats is from. */
export function sourceOf(vendor: Vendor): string {
  return descriptionOf(FIXTURES[vendor].described[0]).source
}

/** Of the vendor's chats. */
export function membersOf(vendor: Vendor): string[] {
  return Object.keys(descriptionOf(FIXTURES[vendor].described[0]).schema.properties ?? {})
}

/** Null where the request is as described. */
export function violationOf(vendor: Vendor, path: string, request: object): string | null {
  const { beside = [], asOpenAi, described } = FIXTURES[vendor]
  const body = Object.fromEntries(Object.entries(request).filter(([name]) => !beside.includes(name)))
  const [chat, embeddings] = described
  const own = path.endsWith('/embeddings') ? embeddings : chat
  if (own === undefined) return `${vendor} has no ${path}`
  const validate = compiled.get(own) ?? ajv.compile(descriptionOf(own, own === chat ? asOpenAi : []).schema)
  compiled.set(own, validate)
  if (validate(body)) return null
  const errors = validate.errors!.filter(({ keyword }) => keyword !== 'anyOf')
  const extra = errors.find(({ instancePath, keyword }) => instancePath === '' && keyword === 'additionalProperties')
  const { instancePath, message, params } =
    extra ?? errors.toSorted((a, b) => b.instancePath.length - a.instancePath.length)[0]!
  return `${instancePath || '/'} ${message}: ${JSON.stringify(params)}`
}
