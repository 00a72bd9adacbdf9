/**
 * Stands between a response and its reader where the client wants a receipt. It hashes the content on its way. The receipt goes
 * into a header and trailer, or into the stream's last event that bears usage.
 *
 * It holds back such an event until the next event with content, or until the end. Everything else passes at once.
 */

import { createHash } from 'node:crypto'
import type { ReceiptClaims } from '@gateway/contracts/receipts'
import { RECEIPT_HEADER } from '@gateway/contracts/receipts'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { isSignOfLife } from '@gateway/sse/signs-of-life'
import { splitEvents } from '@gateway/sse/split-events'
import { asBuffer } from '../core/event-stream.ts'
import { bearsUsage, chunkWithReceipt, dataOf, withReceipt } from '../core/receipt-events.ts'

interface Writer {
  write(bytes: Uint8Array): void
}

type Sign = (content: ReceiptClaims['content']) => Promise<string>

export interface ContentRecord extends Writer {
  /** `rest`: the last bytes, which have not passed yet. Returns the bytes that take their place. */
  conclude(rest: Uint8Array, sign: Sign): Promise<{ rest: Uint8Array; headers: Record<string, string> }>
}

/** `dialect`: a stream's; null where the response is JSON. `shownOf`: the part of an event that its reader can keep. */
export function recordContent(
  dialect: ClientDialect | null,
  reader: Writer,
  shownOf: (event: Buffer) => Buffer = withoutSignsOfLife,
): ContentRecord {
  return dialect ? recordEvents(dialect, reader, shownOf) : recordBytes(reader)
}

function withoutSignsOfLife(event: Buffer): Buffer {
  return isSignOfLife(event) ? NOTHING : event
}

const NOTHING = Buffer.alloc(0)

function recordBytes(reader: Writer): ContentRecord {
  const content = openDigest()
  return {
    write(bytes) {
      content.add(bytes)
      reader.write(bytes)
    },
    async conclude(rest, sign) {
      content.add(rest)
      return { rest, headers: { [RECEIPT_HEADER]: await sign(content.end()) } }
    },
  }
}

function recordEvents(dialect: ClientDialect, reader: Writer, shownOf: (event: Buffer) => Buffer): ContentRecord {
  const content = openDigest()
  /** From an event on that bears usage. */
  let held: Buffer[] = []
  /** The last one with data that has passed. */
  let last: Buffer | null = null

  function count(events: readonly Buffer[]): void {
    for (const event of events) content.add(shownOf(event))
  }

  function pass(events: readonly Buffer[]): void {
    if (events.length === 0) return
    count(events)
    last = events.findLast((event) => !isSignOfLife(event)) ?? last
    reader.write(Buffer.concat(events))
  }

  return {
    write(bytes) {
      const ready: Buffer[] = []
      for (const event of splitEvents(asBuffer(bytes))) {
        if (held.length > 0 && isSignOfLife(event)) {
          held.push(event)
          continue
        }
        ready.push(...held.splice(0))
        if (bearsUsage(event)) held.push(event)
        else ready.push(event)
      }
      pass(ready)
    },

    async conclude(rest, sign) {
      const events = [...held, ...splitEvents(asBuffer(rest))]
      held = []
      const carrierAt = carrierOf(dialect, events)
      const [before, carrier, ...behind] =
        carrierAt < 0 ? [events] : [events.slice(0, carrierAt), ...events.slice(carrierAt)]
      count(before)
      const receipt = await sign(content.end())
      const carried = carrier ? [withReceipt(carrier, receipt)] : newCarrier(before, receipt)
      return { rest: Buffer.concat([...before, ...carried, ...behind]), headers: {} }
    },
  }

  /** A chat whose client wants no usage ends without such an event. */
  function newCarrier(before: readonly Buffer[], receipt: string): Buffer[] {
    const passed = last === null ? before : [last, ...before]
    return [chunkWithReceipt(passed.map(dataOf).findLast((data) => data !== null) ?? {}, receipt)]
  }
}

/** The last event that bears usage, or else the terminal event, which other dialects have. -1: there is none. */
function carrierOf(dialect: ClientDialect, events: readonly Buffer[]): number {
  const at = events.findLastIndex(bearsUsage)
  return at < 0 && dialect !== 'chat' ? events.findLastIndex((event) => dataOf(event) !== null) : at
}

function openDigest() {
  const hash = createHash('sha256')
  let bytes = 0
  return {
    add(piece: Uint8Array): void {
      hash.update(piece)
      bytes += piece.byteLength
    },
    end: () => ({ bytes, sha256: hash.digest('hex') }),
  }
}
