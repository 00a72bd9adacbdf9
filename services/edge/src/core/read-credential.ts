/**
 * What a request's credential claims, decided offline. A well-formed key is still unproven: admission checks it.
 *
 * OpenAI's clients send `authorization: Bearer …`, Anthropic's `x-api-key: …`. Both mean the same. Two that differ have
 * no one reading: a proxy in front could have checked the other one.
 */

import { KEY_PREFIX, parseKey, type ParsedKey } from '@gateway/contracts/api-key'

export type Bearer =
  | { kind: 'none' }
  | { kind: 'key'; key: string; parsed: ParsedKey }
  | { kind: 'malformed_key' }
  | { kind: 'other'; value: string }

export interface CredentialHeaders {
  authorization?: string | undefined
  'x-api-key'?: string | string[] | undefined
}

export function readCredential(headers: CredentialHeaders): Bearer | { kind: 'ambiguous' } {
  const { authorization = '', 'x-api-key': apiKey = '' } = headers
  if (apiKey === '') return readBearer(authorization)
  if (authorization.trim() === '' || bearerIn(authorization) === apiKey) return readValue(String(apiKey))
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

function readValue(value: string): Bearer {
  if (!value.startsWith(KEY_PREFIX)) return { kind: 'other', value }
  const parsed = parseKey(value)
  return parsed ? { kind: 'key', key: value, parsed } : { kind: 'malformed_key' }
}
