/**
 * The id of a response begins as all ids of its client's dialect do: clients distinguish kinds of objects by it. The
 * rest is the backend's own id, by which its operator finds the request.
 */

import type { ClientDialect } from '@gateway/contracts/vendors'

const PREFIXES: Record<ClientDialect, string> = { chat: 'chatcmpl-', responses: 'resp_', messages: 'msg_' }
const ANY_PREFIX = /^(?:chatcmpl-|resp_|msg_)(?=.)/s

export function responseId(dialect: ClientDialect, id: string): string {
  return isResponseId(dialect, id) ? id : PREFIXES[dialect] + id.replace(ANY_PREFIX, '')
}

export function isResponseId(dialect: ClientDialect, id: unknown): boolean {
  return typeof id === 'string' && id.length > PREFIXES[dialect].length && id.startsWith(PREFIXES[dialect])
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
