/**
 * Splits a byte stream into server-sent events, however the network cut it: inside a character, a line or between the
 * two bytes of a CRLF. The same bytes give the same events for every way of cutting them.
 *
 * An event keeps its own bytes, so that it can travel on untouched. Comments and events without data are dropped;
 * lines that are no field for a client (garbage) are taken out of the event that they stand in.
 */

export interface SseEvent {
  /** The event as it came, blank line included. */
  raw: Buffer
  /** The `event:` field. */
  name: string | null
  data: string
}

export interface SseSplitter {
  push(chunk: Buffer): SseEvent[]
  /** The stream is over: what is left, if it is an event that only lacks its blank line. */
  end(): SseEvent[]
  /** Bytes of the event that is not yet whole. */
  readonly heldBytes: number
}

export class EventTooLargeError extends Error {
  override name = 'EventTooLargeError'
}

const LF = 10
const SPACE = 32
const CR = 13
const EMPTY_LINE = Buffer.from('\n\n')
const LARGEST_EVENT_BYTES = 16 * 1024 * 1024

export function createSseSplitter(largestEventBytes = LARGEST_EVENT_BYTES): SseSplitter {
  /** Bytes of the unfinished event from earlier chunks. */
  let held: Buffer[] = []
  let heldBytes = 0
  let lineIsEmpty = true
  let afterCr = false
  /** The CR before stood on an empty line: the event ends with it, or with the LF that follows. */
  let crEndsEvent = false

  function push(chunk: Buffer): SseEvent[] {
    const events: SseEvent[] = []
    let start = 0
    const cut = (end: number) => {
      const event = readEvent(take(chunk.subarray(start, end)))
      if (event) events.push(event)
      start = end
      lineIsEmpty = true
      crEndsEvent = false
    }
    if (afterCr || chunk.includes(CR)) cutByLines(chunk, cut)
    else cutByLineFeeds(chunk, cut)
    if (start < chunk.length) hold(chunk.subarray(start))
    return events
  }

  /** Nearly every server writes no CR. A large event is searched, not looked at byte by byte. */
  function cutByLineFeeds(chunk: Buffer, cut: (end: number) => void): void {
    let start = 0
    while (start < chunk.length) {
      const isEmptyLine = lineIsEmpty && chunk[start] === LF
      const pair = isEmptyLine ? start - 1 : chunk.indexOf(EMPTY_LINE, start)
      if (!isEmptyLine && pair < 0) break
      start = pair + EMPTY_LINE.length
      cut(start)
    }
    if (start < chunk.length) lineIsEmpty = chunk[chunk.length - 1] === LF
  }

  function cutByLines(chunk: Buffer, cut: (end: number) => void): void {
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]
      if (afterCr) {
        afterCr = false
        if (byte === LF) {
          if (crEndsEvent) cut(i + 1)
          continue
        }
        if (crEndsEvent) cut(i)
      }
      if (byte === LF) {
        if (lineIsEmpty) cut(i + 1)
        else lineIsEmpty = true
      } else if (byte === CR) {
        afterCr = true
        crEndsEvent = lineIsEmpty
        lineIsEmpty = true
      } else {
        lineIsEmpty = false
      }
    }
  }

  function hold(bytes: Buffer): void {
    held.push(bytes)
    heldBytes += bytes.length
    if (heldBytes > largestEventBytes)
      throw new EventTooLargeError(`an event is larger than ${largestEventBytes} bytes`)
  }

  function take(last: Buffer): Buffer {
    if (held.length === 0) return last
    const whole = Buffer.concat([...held, last])
    held = []
    heldBytes = 0
    return whole
  }

  function end(): SseEvent[] {
    const rest = take(Buffer.alloc(0))
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
 * Of `id` and `retry`, which serve who comes back to a stream, nobody has a use here. After an `id`, OpenAI's client for Python
 * takes each comment for an event that is no JSON (openai/openai-python#2722, version 2.54).
 */
const FIELDS = new Set(['data', 'event'])

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

/** One space behind the colon is no part of a value. */
function valueAt(text: string, afterColon: number): number {
  return text.charCodeAt(afterColon) === SPACE ? afterColon + 1 : afterColon
}

/** An event without a word: netease-lcap/wave-agent#1326 (2026-07-02). */
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
