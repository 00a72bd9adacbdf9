/**
 * Parses a byte stream into server-sent events, however the network cut it: inside a character, a line or between the two bytes
 * of a CRLF. The same bytes give the same events for every way of cutting them.
 *
 * An event keeps its own bytes, which can travel on untouched. The parser drops comments and events without data, and takes lines
 * that are no field for a client (garbage) out of their event.
 *
 * `eventsource-parser` 4.1.3 gives texts alone. If the router wrote the bytes again, both would take 1.3 times the CPU of this parser
 * for one event a piece (2026-11-28). The factor is 0.85 for eight events a piece, and 2 for an event of 1 MB.
 */

import { EventBoundaries } from './event-boundaries.ts'
import { CR, LF } from './line-state.ts'

export interface SseEvent {
  /** The event as it came, blank line included. */
  raw: Buffer
  /** The `event:` field. */
  name: string | null
  data: string
}

export interface SseParser {
  push(chunk: Buffer): SseEvent[]
  /** The stream is over. Returns the rest, if it is an event that only lacks its blank line. */
  end(): SseEvent[]
  /** Bytes of the unfinished event. */
  readonly heldBytes: number
}

export class EventTooLargeError extends Error {
  override name = 'EventTooLargeError'
}

const SPACE = 32
const NO_BYTES: Buffer = Buffer.alloc(0)
const NO_EVENTS: SseEvent[] = []
const LARGEST_EVENT_BYTES = 16 * 1024 * 1024

export function createSseParser(largestEventBytes = LARGEST_EVENT_BYTES): SseParser {
  const boundaries = new EventBoundaries()
  /** Bytes of the unfinished event from earlier chunks. */
  let held: Buffer[] = []
  let heldBytes = 0
  /** The held event has ended with a CR, or ends with the LF that may follow. */
  let mayEndInLf = false
  let events = NO_EVENTS
  let chunk = NO_BYTES
  let start = 0

  function push(bytes: Buffer): SseEvent[] {
    if (heldBytes === 0 && !mayEndInLf && isOneLine(bytes)) {
      boundaries.reset()
      const event = readLine(bytes)
      return event ? [event] : []
    }
    events = []
    chunk = bytes
    start = 0
    if (mayEndInLf && bytes.length > 0) {
      mayEndInLf = false
      if (bytes[0] !== LF) cut(0)
    }
    boundaries.forEachEnd(bytes, onEnd)
    if (start < bytes.length) hold(bytes.subarray(start))
    // A parser that a collection has aged would keep these events alive after its stream.
    const found = events
    events = NO_EVENTS
    chunk = NO_BYTES
    return found
  }

  function onEnd(end: number): void {
    mayEndInLf = end === chunk.length && chunk[end - 1] === CR
    if (!mayEndInLf) cut(end)
  }

  function cut(end: number): void {
    const isAll = start === 0 && end === chunk.length
    const event = readEvent(take(isAll ? chunk : chunk.subarray(start, end)))
    if (event) events.push(event)
    start = end
  }

  function hold(bytes: Buffer): void {
    held.push(bytes)
    heldBytes += bytes.length
    if (heldBytes > largestEventBytes)
      throw new EventTooLargeError(`an event is larger than ${largestEventBytes} bytes`)
  }

  function take(last: Buffer): Buffer {
    if (held.length === 0) return last
    const complete = Buffer.concat([...held, last])
    held = []
    heldBytes = 0
    return complete
  }

  function end(): SseEvent[] {
    const rest = take(NO_BYTES)
    const event = readEvent(rest)
    return event ? [{ ...event, raw: Buffer.concat([rest, Buffer.from('\n\n')]) }] : []
  }

  return {
    push,
    end,
    get heldBytes() {
      return heldBytes
    },
  }
}

/**
 * The parser takes `id` and `retry` out: they serve a client that resumes a stream, and no client can resume this one. After an
 * `id`, OpenAI's client for Python takes each comment for an event that is no JSON (openai/openai-python#2722, version 2.54).
 */
const FIELDS = new Set(['data', 'event'])

const DATA = Buffer.from('data:')

/** Nearly every piece of a stream is one event of one line. */
function isOneLine(bytes: Buffer): boolean {
  return bytes.indexOf(LF) === bytes.length - 2 && bytes[bytes.length - 1] === LF && !bytes.includes(CR)
}

/** The data alone become a text: a later comparison with a part of a longer text would take three times as long. */
function readLine(raw: Buffer): SseEvent | null {
  if (!DATA.every((byte, at) => raw[at] === byte)) return readEvent(raw)
  const begin = raw[DATA.length] === SPACE ? DATA.length + 1 : DATA.length
  const event = { raw, name: null, data: raw.toString('utf8', begin, raw.length - 2) }
  return isSignOfLife(event) ? null : event
}

function readEvent(raw: Buffer): SseEvent | null {
  if (raw.length < 5) return null
  const text = raw.toString('utf8')
  const event = readUsual(raw, text) ?? readLines(raw, text)
  return event === null || isSignOfLife(event) ? null : event
}

/** Nearly every event is one `data:` line, often behind its name. */
function readUsual(raw: Buffer, text: string): SseEvent | null {
  const isNamed = text.startsWith('event:')
  const dataAt = isNamed ? text.indexOf('\n') + 1 : 0
  if (!text.startsWith('data:', dataAt)) return null
  let end = text.length
  while (end > 0 && (text.charCodeAt(end - 1) === LF || text.charCodeAt(end - 1) === CR)) end--
  const data = text.slice(valueAt(text, dataAt + 'data:'.length), end)
  if (data.includes('\n') || data.includes('\r')) return null
  if (!isNamed) return { raw, name: null, data }
  const name = text.slice(valueAt(text, 'event:'.length), dataAt - 1)
  return name.includes('\r') ? null : { raw, name, data }
}

/** A value begins behind the colon and at most one space. */
function valueAt(text: string, afterColon: number): number {
  return text.charCodeAt(afterColon) === SPACE ? afterColon + 1 : afterColon
}

/** Some servers send events without data as a sign of life: netease-lcap/wave-agent#1326 (2026-07-02). */
function isSignOfLife({ name, data }: SseEvent): boolean {
  return name !== 'error' && data.length < 16 && data.trim() === ''
}

function readLines(raw: Buffer, text: string): SseEvent | null {
  const data: string[] = []
  const kept: string[] = []
  let name: string | null = null
  // Not every client knows a byte order mark.
  let garbage = text.startsWith('\uFEFF')
  for (const line of text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)) {
    if (line === '') continue
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(valueAt(line, colon + 1))
    if (field === 'data') data.push(value)
    else if (field === 'event') name = value
    if (field === '' || FIELDS.has(field)) kept.push(line)
    else garbage = true
  }
  if (data.length === 0) return null
  return { raw: garbage ? Buffer.from(`${kept.join('\n')}\n\n`) : raw, name, data: data.join('\n') }
}
