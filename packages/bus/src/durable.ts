/** The durable half of the bus, which each adapter brings along. */

import type { DurableEvents } from './port.ts'

/** A stream of durable events. An event is done with when every one of `consumers` has committed it. */
export interface DurableStream {
  name: string
  subjects: readonly string[]
  consumers: readonly string[]
}

export interface Durable extends DurableEvents, AsyncDisposable {}

const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 10_000

/** The pause before a batch is handed to its handler again; `failures` counts from 1. */
export function retryDelayMs(failures: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LAST_RETRY_MS)
}

/** Returns true when a stream's subject (`usage.>`, `usage.*` or literal) takes an event's subject. */
export function takesSubject(pattern: string, subject: string): boolean {
  const wanted = pattern.split('.')
  const given = subject.split('.')
  for (let i = 0; i < wanted.length; i++) {
    if (wanted[i] === '>') return given.length > i
    if (i >= given.length || (wanted[i] !== '*' && wanted[i] !== given[i])) return false
  }
  return wanted.length === given.length
}
