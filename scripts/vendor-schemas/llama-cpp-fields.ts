/**
 * Writes a JSON schema of llama.cpp's chat request from its server's sources. It has the fields of the server's own schema with
 * their other names, and the members that the server reads elsewhere. It ignores every other member.
 */

const FIELD = /\(new field_(\w+)\("(\w+)"|->add_alias\("(\w+)"\)/g
const READ = /(?:json_value\((?:body|data), |(?:body|data)\.(?:contains|at|value)\()"(\w+)"/g
const TYPES: Record<string, string> = { bool: 'boolean', num: 'number', str: 'string' }

export function schemaOfLlama(sources: string[]): object {
  const text = sources.join('\n').replaceAll(/^#if 0$[\s\S]*?^#endif$/gm, '')
  const properties: Record<string, object> = { model: {} }
  let last: object = {}
  for (const [, type, name, alias] of text.matchAll(FIELD)) {
    if (type !== undefined) last = TYPES[type] ? { type: TYPES[type] } : {}
    properties[(name ?? alias)!] = last
  }
  // A member that the server reads in two ways may have two types.
  for (const [, name] of text.matchAll(READ)) properties[name!] = {}
  for (const known of ['messages', 'temperature', 'n', 'typical_p']) {
    if (!(known in properties)) throw new Error(`the sources have another form: they do not name ${known}`)
  }
  return { type: 'object', properties, required: ['messages'], additionalProperties: false }
}
