/**
 * The tags of a request. The ledger's row keeps them to group usage by. They come from the header `x-svc-tags`, and from the
 * pairs of OpenAI's `metadata` that fit the same bounds. The header goes first.
 */

import { GatewayError } from '@gateway/contracts/errors'
import { isObject } from '@gateway/contracts/json'
import * as z from 'zod'

/** By name. */
export type Tags = Readonly<Record<string, string>>

export const TAGS_HEADER = 'x-svc-tags'
export const MOST_TAGS = 8

const WORD_PATTERN = '[A-Za-z0-9._-]{1,64}'
const WORD = new RegExp(`^${WORD_PATTERN}$`)
const PAIR = `${WORD_PATTERN}=${WORD_PATTERN}`
/** For readers: a name may stand once, which no pattern says. */
export const tagsHeader = z
  .string()
  .regex(new RegExp(String.raw`^\s*(?:${PAIR}\s*(?:,\s*${PAIR}\s*){0,${MOST_TAGS - 1}})?$`))

/** It would name the prototype of an object, and parsers drop it. */
const UNUSABLE = '__proto__'

function fits(name: string, value: unknown): value is string {
  return WORD.test(name) && name !== UNUSABLE && typeof value === 'string' && WORD.test(value)
}

/** The first pairs of `metadata` that fit; undefined: none does. */
export function tagsInMetadata(metadata: unknown): Tags | undefined {
  if (!isObject(metadata)) return undefined
  const pairs = Object.entries(metadata).filter(([name, value]) => fits(name, value))
  return pairs.length === 0 ? undefined : (Object.fromEntries(pairs.slice(0, MOST_TAGS)) as Tags)
}

/** Undefined: no tags. Throws where the header has another form. */
export function tagsOf(header: string | undefined, inMetadata: Tags | undefined): Tags | undefined {
  if (header === undefined || header.trim() === '') return inMetadata
  const ofHeader = readTags(header)
  if (inMetadata === undefined) return Object.fromEntries(ofHeader)
  const others = Object.entries(inMetadata).filter(([name]) => !ofHeader.has(name))
  return Object.fromEntries([...ofHeader, ...others].slice(0, MOST_TAGS))
}

/** `team=search,env=prod`. A proxy that joins two headers writes a space behind the comma. */
function readTags(header: string): Map<string, string> {
  const tags = new Map<string, string>()
  for (const pair of header.split(',')) {
    const [name = '', value, ...more] = pair.trim().split('=')
    if (more.length > 0 || !fits(name, value)) {
      throw wrong('must be pairs such as team=search,env=prod; names and values have 1 to 64 of A-Z a-z 0-9 . _ -')
    }
    if (tags.has(name)) throw wrong(`must name ${name} once`)
    tags.set(name, value)
  }
  if (tags.size > MOST_TAGS) throw wrong(`must have at most ${MOST_TAGS} pairs`)
  return tags
}

function wrong(rule: string): GatewayError {
  return new GatewayError('VALIDATION_ERROR', `${TAGS_HEADER}: ${rule}`, { param: TAGS_HEADER })
}
