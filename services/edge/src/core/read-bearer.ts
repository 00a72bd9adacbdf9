/**
 * What the Authorization header claims, decided offline. A well-formed key is still unproven: admission checks it.
 */

import { KEY_PREFIX, parseKey, type ParsedKey } from '@gateway/contracts/api-key'

export type Bearer =
  | { kind: 'none' }
  | { kind: 'key'; key: string; parsed: ParsedKey }
  | { kind: 'malformed_key' }
  | { kind: 'other'; value: string }

/** `header` is the raw field value; the scheme is compared without regard to case (RFC 9110). */
export function readBearer(header: string | undefined): Bearer {
  if (header === undefined || header.trim() === '') return { kind: 'none' }
  const value = /^bearer +(\S+) *$/i.exec(header)?.[1]
  if (value === undefined) return { kind: 'other', value: '' }
  if (!value.startsWith(KEY_PREFIX)) return { kind: 'other', value }
  const parsed = parseKey(value)
  return parsed ? { kind: 'key', key: value, parsed } : { kind: 'malformed_key' }
}
