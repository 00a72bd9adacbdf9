/**
 * Passes an answer's bytes on to its reader. A JSON answer passes as it comes. A stream passes in whole events,
 * and the passage counts them.
 */

import type { Consumed } from './answer-writer.ts'
import type { Reader } from './reader.ts'
import { countEvents } from '../core/count-events.ts'
import { wholeEvents } from '../core/whole-events.ts'

export interface Passage {
  pass(bytes: Uint8Array): void
  /** The client has left: counts the events and writes nothing. */
  note(bytes: Uint8Array): void
  /** The answer has ended in good order: writes the rest. */
  end(): void
  /** The client has taken bytes that were written. */
  readonly taken: Consumed
  /** Whole events so far. */
  readonly events: number
}

/** `consumed` tells the router how many bytes the client has taken. */
export function openPassage(stream: boolean, reader: Pick<Reader, 'write'>, consumed: Consumed): Passage {
  return stream ? passEvents(reader, consumed) : passBytes(reader, consumed)
}

function passBytes(reader: Pick<Reader, 'write'>, consumed: Consumed): Passage {
  return {
    pass: (bytes) => reader.write(bytes),
    note() {},
    end() {},
    taken: consumed,
    events: 0,
  }
}

function passEvents(reader: Pick<Reader, 'write'>, consumed: Consumed): Passage {
  const whole = wholeEvents()
  let events = 0
  /** Bytes that were told as consumed while they waited for the end of their event, which else might never come. */
  let toldAhead = 0

  function take(bytes: Uint8Array): Uint8Array {
    const taken = whole.push(bytes)
    if (taken.length > 0) events += countEvents(taken)
    return taken
  }

  return {
    pass(bytes) {
      const ready = take(bytes)
      const held = bytes.length - ready.length
      if (held > 0) {
        toldAhead += held
        consumed(held)
      }
      if (ready.length > 0) reader.write(ready)
    },
    note: (bytes) => void take(bytes),
    end() {
      const unfinished = whole.end()
      if (unfinished.length > 0) reader.write(unfinished)
    },
    taken(bytes) {
      const untold = Math.max(0, bytes - toldAhead)
      toldAhead -= bytes - untold
      consumed(untold)
    },
    get events() {
      return events
    },
  }
}
