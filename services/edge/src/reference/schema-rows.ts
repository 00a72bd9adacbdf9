/**
 * A JSON schema as the rows of a table: each member by its path (`choices[].message.content`), in the order of the schema.
 */

interface SchemaRow {
  path: string
  type: string
  required: boolean
}

/** What of JSON schema the contracts produce. */
export interface JsonSchema {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: JsonSchema[]
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  default?: unknown
  format?: string
}

export function schemaRows(schema: JsonSchema, prefix = ''): SchemaRow[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`
    const required = schema.required?.includes(name) === true && member.default === undefined
    const row = { path, type: typeOf(member), required }
    const { inner, suffix } = membersOf(member)
    return inner ? [row, ...schemaRows(inner, path + suffix)] : [row]
  })
}

/** The object whose members follow the row: the schema itself, what its array holds, or the one alternative that has any. */
function membersOf(schema: JsonSchema): { inner: JsonSchema | null; suffix: string } {
  if (schema.properties) return { inner: schema, suffix: '' }
  if (schema.items) {
    const { inner, suffix } = membersOf(schema.items)
    return { inner, suffix: `[]${suffix}` }
  }
  const holding = (schema.anyOf ?? []).map(membersOf).filter(({ inner }) => inner !== null)
  return holding.length === 1 ? holding[0]! : { inner: null, suffix: '' }
}

function typeOf(schema: JsonSchema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(' | ')
  if (schema.items) return `array of ${typeOf(schema.items)}`
  const named = Array.isArray(schema.type) ? schema.type.join(' | ') : (schema.type ?? 'any')
  return schema.format ? `${named} (${schema.format})` : named
}
