/**
 * The events that the edge adds to a backend's stream: a dialect's signs of life, its end, and a failure after the beginning.
 * The edge knows the event that ends a stream, so that it can hold that event back until the usage is stored.
 */

import { CLIENT_DIALECTS } from '@gateway/contracts/client-dialects'
import type { StreamProfile } from '@gateway/contracts/client-dialects/profile'
import type { GatewayError } from '@gateway/contracts/errors'
import type { ClientDialect } from '@gateway/contracts/vendors'

interface StreamForm extends Pick<StreamProfile, 'keepAlive' | 'done'> {
  /** Notes complete events that were sent: the text of a failure may depend on them. */
  note?(events: Uint8Array): void
  failure(error: GatewayError): string
}

/** One stream's. */
export function streamForm(dialect: ClientDialect, requestId: string): StreamForm {
  const { stream } = CLIENT_DIALECTS[dialect]
  const { keepAlive, done } = stream
  if (stream.isNumbered) return { keepAlive, done, ...numbered(stream, requestId) }
  return { keepAlive, done, failure: (error) => stream.failure(error, { requestId, first: null, nextNumber: 0 }) }
}

/** Nothing is parsed before there is a failure. */
function numbered(stream: StreamProfile, requestId: string): Required<Pick<StreamForm, 'note' | 'failure'>> {
  let first: Buffer | null = null
  let nextNumber = 0
  return {
    note(events) {
      const bytes = asBuffer(events)
      first ??= firstEventOf(bytes)
      nextNumber = lastNumberIn(bytes) + 1 || nextNumber
    },
    failure: (error) => stream.failure(error, { requestId, first: first && dataIn(first), nextNumber }),
  }
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** A copy: the bytes lie in a message that carries much else. */
function firstEventOf(bytes: Buffer): Buffer {
  const end = bytes.indexOf('\n\n')
  return Buffer.from(end < 0 ? bytes : bytes.subarray(0, end))
}

const NUMBER = Buffer.from('"sequence_number":')
const [LF, SPACE, ZERO, NINE] = [0x0a, 0x20, 0x30, 0x39]

/**
 * NaN where there is none. Within a text its quotes would be escaped. Nearly every event says it at its begin, before a response that
 * may repeat a coding tool's tools. A search from the end would pass all of those, and take 20 µs for 40 kB.
 */
function lastNumberIn(bytes: Buffer): number {
  const lastLine = bytes.lastIndexOf(LF, bytes.length - 3) + 1
  const number = numberAt(bytes, bytes.indexOf(NUMBER, lastLine))
  return Number.isNaN(number) ? numberAt(bytes, bytes.lastIndexOf(NUMBER)) : number
}

function numberAt(bytes: Buffer, place: number): number {
  if (place < 0) return NaN
  let at = place
  at += NUMBER.length
  while (bytes[at] === SPACE) at++
  let number = NaN
  for (; bytes[at]! >= ZERO && bytes[at]! <= NINE; at++) number = (number || 0) * 10 + bytes[at]! - ZERO
  return number
}

/** The data of an event; null where it is no JSON. */
function dataIn(event: Buffer): unknown {
  const [, data = ''] = /^data:(.*)$/m.exec(event.toString()) ?? []
  try {
    return JSON.parse(data)
  } catch {
    return null
  }
}

/**
 * Returns a function that is true where the event at `lastAt`, the last of complete events, ends a good stream. Undefined: no
 * event of the dialect ends one. The router writes the name of such an event in its first line.
 */
export function terminalEventOf(dialect: ClientDialect): ((events: Uint8Array, lastAt: number) => boolean) | undefined {
  const lines = CLIENT_DIALECTS[dialect].stream.terminalEvents.map((name) => Buffer.from(`event: ${name}\n`))
  if (lines.length === 0) return undefined
  return (events, lastAt) => lines.some((line) => isAt(events, lastAt, line))
}

/** On the way of every event: most differ in an early byte. */
function isAt(bytes: Uint8Array, begin: number, line: Buffer): boolean {
  for (let at = 0; at < line.length; at++) if (bytes[begin + at] !== line[at]) return false
  return true
}
