/**
 * The id of a response begins as all ids of its client's dialect do: clients distinguish kinds of objects by it. The
 * rest is the backend's own id, by which its operator finds the request.
 */

import { CLIENT_DIALECTS } from '@gateway/contracts/client-dialects'
import type { ClientDialect } from '@gateway/contracts/vendors'

const PREFIXES = Object.values(CLIENT_DIALECTS).map(({ responseIdPrefix }) => responseIdPrefix)
const ANY_PREFIX = new RegExp(`^(?:${PREFIXES.join('|')})(?=.)`, 's')

export function responseId(dialect: ClientDialect, id: string): string {
  return isResponseId(dialect, id) ? id : CLIENT_DIALECTS[dialect].responseIdPrefix + id.replace(ANY_PREFIX, '')
}

export function isResponseId(dialect: ClientDialect, id: unknown): boolean {
  const { responseIdPrefix: prefix } = CLIENT_DIALECTS[dialect]
  return typeof id === 'string' && id.length > prefix.length && id.startsWith(prefix)
}

/** The event with another id, where the id stands in it as nearly all servers write it; else null. No other byte changes. */
export function withResponseId(raw: Buffer, from: string, to: string): Buffer | null {
  for (const colon of [':', ': ']) {
    const written = `"id"${colon}${JSON.stringify(from)}`
    const at = raw.indexOf(written)
    if (at < 0) continue
    const before = raw.subarray(0, at)
    const after = raw.subarray(at + Buffer.byteLength(written))
    return Buffer.concat([before, Buffer.from(`"id"${colon}${JSON.stringify(to)}`), after])
  }
  return null
}
