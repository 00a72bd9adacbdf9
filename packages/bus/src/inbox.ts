/**
 * The one subscription through which everything comes back to this process: `inbox.<processId>.>`.
 *
 * An address is the prefix, a letter for the part of the bus that handles it, and a token of that part. A pulled
 * durable event alone arrives under its own subject; its reply address identifies it, and it has no token.
 */

import { randomBytes } from 'node:crypto'
import type { Wire } from './wire.ts'

/**
 * frames · our own heartbeat · notices about offered jobs · replies · acknowledgements of durable events · pulled durable
 * events
 */
export type InboxPart = 'f' | 'h' | 'j' | 'r' | 'd' | 'p'
export type InboxListener = (
  payload: Uint8Array,
  token: string,
  noResponder: boolean,
  replyTo: string | undefined,
) => void

export interface Inbox {
  address(part: InboxPart, token: string | number): string
  on(part: InboxPart, listener: InboxListener): void
}

/**
 * A process's name on the bus, new at every start and safe in subjects. It begins with the service (`edge.<random>`),
 * so that a broker's permissions can separate the inboxes of services.
 */
export function createProcessId(name?: string): string {
  const random = randomBytes(10).toString('hex')
  return name === undefined ? random : `${name.toLowerCase().replaceAll(/[^a-z0-9-]+/g, '-')}.${random}`
}

export async function openInbox(wire: Wire, processId: string): Promise<Inbox> {
  const prefix = `inbox.${processId}.`
  const listeners = new Map<string, InboxListener>()
  await wire.subscribe(`${prefix}>`, undefined, (payload, subject, replyTo, noResponder) => {
    if (!subject.startsWith(prefix)) return listeners.get('p')?.(payload, '', false, replyTo)
    listeners.get(subject.charAt(prefix.length))?.(payload, subject.slice(prefix.length + 2), noResponder, replyTo)
  })
  return {
    address: (part, token) => `${prefix}${part}.${token}`,
    on: (part, listener) => void listeners.set(part, listener),
  }
}

/** Where a process takes the frames of its peers. */
export function framesSubject(processId: string): string {
  return `inbox.${processId}.f.0`
}
