/**
 * Leaves out the members of a request that a client may not send to its target, and names them for the client. Some
 * steer the server, and some change a price which the gateway does not know. The target would ignore others without a
 * word. The vendors' profiles have the lists.
 */

import { endOfString, parseExactly, isObject, type JsonObject } from '@gateway/contracts/json'

/** The members of one object that may stay. */
export interface MemberRule {
  /** Undefined: all but those that steer. */
  accepted?: ReadonlySet<string> | undefined
  /** Members that steer the server, by their folded names. */
  control?: ReadonlySet<string> | undefined
}

/** A member of a request that a client could change its price by. */
export interface PricedOption {
  /** The values that cost as much as no word does; another kind of value than a text is the target's to judge. */
  free?: readonly string[]
}

/** The members that a client may send to one target, in one dialect. */
export interface ParameterPolicy {
  /** By the path of the object; the request itself is at ''. */
  members: ReadonlyMap<string, MemberRule>
  priced: ReadonlyMap<string, PricedOption>
  /** The operator's exceptions, by the path that the client reads. Nobody can allow a price. */
  allowed: ReadonlySet<string>
}

/** Names in a text, with spaces between. */
export function namesIn(text: string): ReadonlySet<string> {
  return new Set(text.split(' '))
}

/** Case and underscores do not distinguish names: Go's servers ignore the one, those of protobuf the other. */
export function fold(name: string): string {
  return name.toUpperCase().toLowerCase().replaceAll(/[_-]/g, '')
}

/** The request without those members; the same bytes where it has none. `names`: those of its members, where they are known. */
export function stripParameters(
  body: Buffer,
  policy: ParameterPolicy,
  names: readonly string[] = memberNames(body),
): { body: Buffer; dropped: string[] } {
  if (names.every((name) => stays(name, policy))) return { body, dropped: [] }
  const request = parseExactly(body.toString('utf8')) as JsonObject
  const dropped: string[] = []
  if (!strip(request, '', policy, dropped)) return { body, dropped }
  return { body: Buffer.from(JSON.stringify(request)), dropped }
}

/** True if a member of the request stays. Its value does not matter. */
function stays(name: string, policy: ParameterPolicy): boolean {
  return !policy.priced.has(name) && !policy.members.has(name) && isAllowed(name, '', policy)
}

function isAllowed(name: string, path: string, { members, allowed }: ParameterPolicy): boolean {
  const { accepted, control } = members.get(path)!
  if (accepted?.has(name) || allowed.has(pathOf(path, name))) return true
  return accepted === undefined && control?.has(fold(name)) !== true
}

/** True if something is gone. A null says nothing, and nobody misses it. */
function strip(object: JsonObject, path: string, policy: ParameterPolicy, dropped: string[]): boolean {
  let isChanged = false
  for (const name of Object.keys(object)) {
    const value = object[name]
    const own = pathOf(path, name)
    if (isAllowed(name, path, policy) && !(path === '' && isDear(value, policy.priced.get(name)))) {
      if (policy.members.has(own) && isObject(value)) isChanged = strip(value, own, policy, dropped) || isChanged
      continue
    }
    delete object[name]
    isChanged = true
    if (value !== null) dropped.push(own)
  }
  return isChanged
}

function isDear(value: unknown, option: PricedOption | undefined): boolean {
  if (option === undefined || value === null) return false
  return option.free === undefined || (typeof value === 'string' && !option.free.includes(value))
}

function pathOf(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

const QUOTE = 0x22
const COMMA = 0x2c
const OPENING = new Set([0x7b, 0x5b])
const CLOSING = new Set([0x7d, 0x5d])

/**
 * The names of a JSON object's own members, without parsing it: a prompt with images has megabytes. The text is JSON: the
 * edge has parsed it.
 */
export function memberNames(object: Buffer): string[] {
  const names: string[] = []
  let depth = 0
  let expectsName = true
  for (let at = 0; at < object.length; at++) {
    const byte = object[at]!
    if (byte === QUOTE) {
      const end = endOfString(object, at + 1)
      if (depth === 1 && expectsName) names.push(JSON.parse(object.toString('utf8', at, end + 1)) as string)
      expectsName = false
      at = end
    } else if (OPENING.has(byte)) depth++
    else if (CLOSING.has(byte)) depth--
    else if (byte === COMMA && depth === 1) expectsName = true
  }
  return names
}
