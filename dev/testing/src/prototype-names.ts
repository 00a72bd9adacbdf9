/**
 * The names that every object has without owning them. One that reads a client's word as the name of a member finds them:
 * `TABLE['constructor']` is a function.
 */

export const PROTOTYPE_NAMES = Object.getOwnPropertyNames(Object.prototype)

/** The value once for each of its texts and each name, with the name in the text's place; and as the name of a member.
 * Once, an object that has such members of its own stands in a text's place. */
export function* withPrototypeNames(value: unknown): Generator<{ place: string; name: string; changed: unknown }> {
  for (const path of textsIn(value)) {
    const place = path.join('.')
    for (const name of PROTOTYPE_NAMES) yield { place, name, changed: withAt(value, path, name) }
    yield { place, name: 'no text', changed: withAt(value, path, WITHOUT_TEXT) }
  }
  for (const path of objectsIn(value)) {
    for (const name of PROTOTYPE_NAMES) {
      const member = JSON.parse(`{${JSON.stringify(name)}:{"type":"${name}"}}`) as object
      yield { place: path.join('.'), name: `member ${name}`, changed: withAt(value, path, member, 'beside') }
    }
  }
}

/** Code that makes a text or a number of it fails. */
const WITHOUT_TEXT = { toString: 1, valueOf: 1 }

type Path = readonly string[]

function textsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value === 'string') return [path]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => textsIn(inner, [...path, name]))
}

function objectsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return []
  const inner = Object.entries(value).flatMap(([name, member]) => objectsIn(member, [...path, name]))
  return Array.isArray(value) ? inner : [path, ...inner]
}

function withAt(value: unknown, [step, ...rest]: Path, put: unknown, how: 'instead' | 'beside' = 'instead'): unknown {
  if (step === undefined) return how === 'instead' ? put : withMembers(value as object, put as object)
  if (Array.isArray(value)) {
    return value.map((item: unknown, at) => (String(at) === step ? withAt(item, rest, put, how) : item))
  }
  const inner = withAt((value as Record<string, unknown>)[step], rest, put, how)
  return withMembers(value as object, { [step]: inner })
}

/** Entry by entry: `__proto__` is a member as JSON has it. */
function withMembers(value: object, more: object): object {
  return Object.fromEntries([...Object.entries(value), ...Object.entries(more)])
}
