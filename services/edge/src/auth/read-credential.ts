/**
 * Reads the credential of a request, offline: its kind and its form. A well-formed key is still unproven.
 */

import { ADMIN_KEY_PREFIX, parseAdminKey } from '@gateway/contracts/admin-key'
import { KEY_PREFIX, parseKey, type ParsedKey } from '@gateway/contracts/api-key'

export type Bearer =
  | { kind: 'none' }
  | { kind: 'key'; key: string; parsed: ParsedKey }
  | { kind: 'admin_key'; key: string }
  | { kind: 'malformed_key' }
  | { kind: 'other'; value: string }

interface CredentialHeaders {
  authorization?: string | undefined
  'x-api-key'?: string | string[] | undefined
}

/** The kinds that a route can use, the best first. Of two credentials that differ, the first of these kinds counts. */
export type Wanted = readonly Bearer['kind'][]
const KEY_WANTED: Wanted = ['key', 'other']
const DISTINCT: ReadonlySet<string> = new Set<Bearer['kind']>(['key', 'admin_key', 'other'])

/**
 * OpenAI's clients send `authorization: Bearer …`, Anthropic's `x-api-key: …`. Both mean the same. Tools send both where
 * the login of another service is left over, so the one that the route can use counts. Two keys have no one reading.
 */
export function readCredential(
  headers: CredentialHeaders,
  wanted: Wanted = KEY_WANTED,
): Bearer | { kind: 'ambiguous' } {
  const { authorization = '', 'x-api-key': apiKey = '' } = headers
  if (apiKey === '') return readBearer(authorization)
  const first = readValue(String(apiKey))
  if (authorization.trim() === '' || bearerIn(authorization) === apiKey) return first
  const second = readBearer(authorization)
  if (first.kind === second.kind || ![first, second].every(({ kind }) => DISTINCT.has(kind)))
    return { kind: 'ambiguous' }
  for (const kind of wanted) {
    const usable = [first, second].find((bearer) => bearer.kind === kind)
    if (usable) return usable
  }
  return { kind: 'ambiguous' }
}

/** `header` is the raw field value; the scheme is compared without regard to case (RFC 9110). */
function readBearer(header: string): Bearer {
  if (header.trim() === '') return { kind: 'none' }
  return readValue(bearerIn(header) ?? '')
}

function bearerIn(header: string): string | undefined {
  return /^bearer +(\S+) *$/i.exec(header)?.[1]
}

const MALFORMED = { kind: 'malformed_key' } as const

function readValue(value: string): Bearer {
  if (!value.startsWith(KEY_PREFIX)) return { kind: 'other', value }
  if (value.startsWith(ADMIN_KEY_PREFIX)) return parseAdminKey(value) ? { kind: 'admin_key', key: value } : MALFORMED
  const parsed = parseKey(value)
  return parsed ? { kind: 'key', key: value, parsed } : MALFORMED
}
