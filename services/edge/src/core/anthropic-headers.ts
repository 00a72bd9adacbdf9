/**
 * Reads the `anthropic-*` headers of a client of the Messages API. They are an open list, since Anthropic adds some with a
 * release, and each of them reaches a target of that API as it came. A header that holds a key of this gateway stays here.
 */

import type { IncomingHttpHeaders } from 'node:http'
import { KEY_PREFIX } from '@gateway/contracts/api-key'
import { GatewayError } from '@gateway/contracts/errors'

export interface AnthropicHeaders {
  anthropicVersion?: string | undefined
  anthropicBeta?: string | undefined
  /** All others, by name. */
  anthropicHeaders?: Record<string, string> | undefined
}

const PREFIX = 'anthropic-'
/** They travel with every job: Claude Code 2.1 sends five, of 1 KB together. */
export const MOST_HEADERS = 32
export const MOST_HEADER_BYTES = 8 * 1024

/** Node gives a repeated header as one value, with commas between. */
export function anthropicHeadersOf(headers: IncomingHttpHeaders): AnthropicHeaders {
  const found: Record<string, string> = {}
  let count = 0
  let bytes = 0
  for (const name in headers) {
    if (!name.startsWith(PREFIX)) continue
    const value = headers[name] as string
    if (holdsCredential(value, headers)) continue
    count++
    bytes += name.length + value.length
    if (count > MOST_HEADERS || bytes > MOST_HEADER_BYTES) throw tooMuch(name)
    found[name] = value
  }
  const { 'anthropic-version': anthropicVersion, 'anthropic-beta': anthropicBeta, ...others } = found
  return { anthropicVersion, anthropicBeta, ...(Object.keys(others).length > 0 && { anthropicHeaders: others }) }
}

/** The request's own credential, or any key of this gateway. */
function holdsCredential(value: string, { authorization, 'x-api-key': apiKey }: IncomingHttpHeaders): boolean {
  if (KEY_OF_OURS.test(value)) return true
  const bearer = authorization?.split(' ').at(-1)
  return [bearer, apiKey].some((credential) => typeof credential === 'string' && isIn(credential, value))
}

/** Keys with a slip of the hand, too. */
const KEY_OF_OURS = new RegExp(`${KEY_PREFIX}[0-9A-Za-z]{20}`)
/** A shorter text is no credential. */
const SHORTEST_CREDENTIAL = 8

function isIn(credential: string, value: string): boolean {
  return credential.length >= SHORTEST_CREDENTIAL && value.includes(credential)
}

function tooMuch(name: string): GatewayError {
  const most = `${MOST_HEADERS} headers and ${MOST_HEADER_BYTES / 1024} KB`
  return new GatewayError('VALIDATION_ERROR', `${name}: the anthropic-* headers may be ${most} together`)
}
