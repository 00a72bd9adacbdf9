/**
 * The names of a request's tools as functions of chat. Chat knows no namespaces, so a tool's name begins with its own. No two
 * tools share a name, and none is longer than chat allows: such a one ends with a digest instead.
 *
 * A name matters only within its request. The same tools have the same names in the next one, which prompt caches need.
 */

import { createHash } from 'node:crypto'
import { isObject, type JsonObject, objectsOf, wordOf } from '@gateway/contracts/json'

/** OpenAI's, which others follow (the types of `openai` 7.55, 2026). */
const MOST_CHARACTERS = 64
const DIGEST_CHARACTERS = 12

export class FunctionNames {
  /** Whose a name is: a key of namespace and name. */
  #owners = new Map<string, string>()

  /** `tools`: all of the request. A tool without a namespace keeps its name, so it goes before the others. */
  constructor(tools: readonly JsonObject[]) {
    for (const { type, name } of tools) if (type === 'function' || type === 'custom') this.of(wordOf(name), undefined)
    for (const { type, name: namespace, tools: inner } of tools) {
      if (type === 'namespace') for (const { name } of objectsOf(inner)) this.of(wordOf(name), wordOf(namespace))
    }
  }

  of(name: string, namespace: unknown): string {
    if (typeof namespace !== 'string' || namespace === '') {
      this.#owners.set(name, keyOf(name, ''))
      return name
    }
    const key = keyOf(name, namespace)
    const joined = `${namespace}__${name}`
    const owner = this.#owners.get(joined) ?? key
    if (owner !== key || joined.length > MOST_CHARACTERS) return shortened(joined, key)
    this.#owners.set(joined, key)
    return joined
  }
}

/** The tools of a request: its own, and those that its input adds. */
export function toolsOf({ tools, input }: JsonObject): JsonObject[] {
  const items = Array.isArray(input) ? input.filter(isObject) : []
  const added = items.filter(({ type }) => type === 'additional_tools')
  return [...objectsOf(tools), ...added.flatMap((item) => objectsOf(item.tools))]
}

function keyOf(name: string, namespace: string): string {
  return JSON.stringify([namespace, name])
}

function shortened(joined: string, key: string): string {
  const digest = createHash('sha256').update(key).digest('hex').slice(0, DIGEST_CHARACTERS)
  return `${joined.slice(0, MOST_CHARACTERS - DIGEST_CHARACTERS - 1)}_${digest}`
}
