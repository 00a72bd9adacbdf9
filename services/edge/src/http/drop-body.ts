/**
 * Ends a response to a request whose body nobody wants: the client has the whole response at once, and the rest of the body
 * is read as slowly as its sender's share of the event loop allows. TCP holds the sender meanwhile.
 *
 * Most clients read nothing before they have sent everything. A connection that closes under their bytes is reset, and they
 * may lose the response. So the edge closes it only when too much comes, or for too long, as nginx does (`lingering_close`).
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { BytesInFlight, MemoryReservation } from './memory-budget.ts'
import { reservationOf } from './memory-budget.ts'
import type { StepResponse } from './take-steps.ts'

/** Node has read so much before anybody asks for it. */
const READ_AHEAD_BYTES = 64 * 1024
/** Twice the largest body: who sends more sends no request. */
const MOST_DROPPED_BYTES = 50 * 1024 * 1024
/** nginx' `lingering_time` on 2026-11-28. */
const LONGEST_MS = 30_000
/** Connections of one sender that wait for its share do not all go on at the same moment. */
const LEAST_PAUSE_MS = 5
const PAUSE_SPREAD_MS = 20

export interface DropsBodies {
  bytes: Pick<BytesInFlight, 'hold'>
}

/** `response`: its head is written and names the length of `body`. */
export function endAfterBody(
  { bytes }: DropsBodies,
  request: IncomingMessage,
  response: StepResponse,
  body: string,
): void {
  if (!hasMoreToCome(request)) return void response.end(body)
  response.write(body)
  dropRest(request, response, reservationOf(response) ?? bytes.hold(request, response))
}

/** More than Node has read already. */
function hasMoreToCome(request: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': transfer, expect } = request.headers
  if (request.complete || (length === undefined && transfer === undefined)) return false
  // A client that waits to be told has sent none, unless it was told.
  if (expect !== undefined && request.httpVersion === '1.1' && !request.readableDidRead) return false
  return length === undefined || Number(length) > READ_AHEAD_BYTES
}

function dropRest(request: IncomingMessage, response: ServerResponse, hold: MemoryReservation): void {
  let left = MOST_DROPPED_BYTES
  let pause: NodeJS.Timeout | undefined
  const cut = () => void request.socket.destroy()
  const deadline = setTimeout(cut, LONGEST_MS).unref()
  const read = () => {
    if (pause !== undefined) return
    while (!hold.isOverShare()) {
      const piece = request.read() as Buffer | null
      if (piece === null) return
      hold.drops(piece.length)
      left -= piece.length
      if (left < 0) return cut()
    }
    pause = setTimeout(goOn, hold.msOverShare() + LEAST_PAUSE_MS + Math.random() * PAUSE_SPREAD_MS).unref()
  }
  const goOn = () => {
    pause = undefined
    read()
  }
  response.once('close', () => {
    clearTimeout(deadline)
    clearTimeout(pause)
  })
  request.removeAllListeners('data')
  request.on('readable', read).once('end', () => void response.end())
}
