/**
 * A JSON schema from the structs of a Go file, by their `json` tags. Go's decoder ignores a member that no tag names, and
 * takes null for none.
 */

const STRUCT = /^type (\w+) struct \{\n([\s\S]*?)^\}/gm
const FIELD = /^\t\w+\s+(\S+)\s+`json:"([^",]+)[^`]*`/gm
const TYPES: Record<string, string> = { string: 'string', bool: 'boolean', int: 'integer', float64: 'number' }

export function schemaOfStructs(source: string, name: string): object {
  const structs = new Map([...source.matchAll(STRUCT)].map(([, struct, body]) => [struct!, body!]))
  const schemaOf = (type: string): object => {
    if (type.startsWith('*')) return schemaOf(type.slice(1))
    if (type.startsWith('[]')) return { type: ['array', 'null'], items: schemaOf(type.slice(2)) }
    if (TYPES[type]) return { type: [TYPES[type], 'null'] }
    const body = structs.get(type)
    // Another package's, or any value.
    if (body === undefined) return {}
    const fields = [...body.matchAll(FIELD)].map(([, of, member]) => [member, schemaOf(of!)] as const)
    return { type: ['object', 'null'], properties: Object.fromEntries(fields) }
  }
  if (!structs.has(name)) throw new Error(`the file has no struct ${name}`)
  return { ...schemaOf(name), additionalProperties: false }
}
