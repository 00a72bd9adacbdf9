/**
 * Ends a response to a request whose body the edge does not need. The client gets the complete response at once. The edge
 * reads the rest of the body within its sender's share of the event loop, and TCP holds the sender back meanwhile.
 *
 * Most clients read nothing before they have sent everything. If the edge closed the connection meanwhile, a reset could
 * take the response from them. So it closes only after too many bytes or too long a time, as nginx does (`lingering_close`).
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { BytesInFlight, MemoryReservation } from './memory-budget.ts'
import { reservationOf } from './memory-budget.ts'
import type { StepResponse } from './take-steps.ts'

/** Node reads this much ahead by itself. */
const READ_AHEAD_BYTES = 64 * 1024
/** Twice the largest body. */
const MOST_DROPPED_BYTES = 50 * 1024 * 1024
/** nginx' `lingering_time` on 2026-11-28. */
const LONGEST_MS = 30_000
/** Connections of one sender that wait for its share do not all go on at the same moment. */
const LEAST_PAUSE_MS = 5
const PAUSE_SPREAD_MS = 20

export interface DropsBodies {
  bytes: Pick<BytesInFlight, 'reserveRequest'>
}

/** The caller has set the response's headers, with the length of `body`, and has not sent them. */
export function endAfterBody(
  { bytes }: DropsBodies,
  request: IncomingMessage,
  response: StepResponse,
  body: string,
): void {
  if (!hasMoreToCome(request)) return void response.end(body)
  // On a connection that stays open, the next request would wait until the edge has read this body.
  response.shouldKeepAlive = false
  response.write(body)
  dropRest(request, response, reservationOf(response) ?? bytes.reserveRequest(request, response))
}

/** More than Node has read already. */
function hasMoreToCome(request: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': transfer, expect } = request.headers
  if (request.complete || (length === undefined && transfer === undefined)) return false
  // A client that waits for `100 Continue` has sent nothing before it.
  if (expect !== undefined && request.httpVersion === '1.1' && !request.readableDidRead) return false
  return length === undefined || Number(length) > READ_AHEAD_BYTES
}

/** Node buffers nothing of the body meanwhile: thousands of such connections would fill the memory. */
function dropRest(request: IncomingMessage, response: ServerResponse, reservation: MemoryReservation): void {
  reservation.dropBody()
  const { cpu } = reservation
  let left = MOST_DROPPED_BYTES
  let pause: NodeJS.Timeout | undefined
  const { socket } = request
  const cut = () => void socket.destroy()
  const deadline = setTimeout(cut, LONGEST_MS).unref()
  const drop = (piece: Buffer) => {
    cpu.chargeDropped(piece.length)
    left -= piece.length
    if (left < 0) return cut()
    if (pause === undefined && cpu.isOverShare()) stop()
  }
  const stop = () => {
    pauseReading(socket)
    wait()
  }
  const wait = () => {
    pause = setTimeout(goOn, cpu.msOverShare() + LEAST_PAUSE_MS + Math.random() * PAUSE_SPREAD_MS).unref()
  }
  const goOn = () => {
    if (cpu.isOverShare()) wait()
    else release()
  }
  const release = () => {
    if (pause === undefined) return
    clearTimeout(pause)
    pause = undefined
    resumeReading(socket)
  }
  response.once('close', () => {
    clearTimeout(deadline)
    release()
  })
  request.removeAllListeners('data')
  request.on('data', drop).once('end', () => {
    release()
    response.end()
  })
  // Its reader may have paused it.
  request.resume()
}

/** The HTTP parser resumes a socket as soon as its request has been read from. */
function pauseReading(socket: Socket): void {
  socket.on('resume', pauseAgain)
  socket.pause()
}

function resumeReading(socket: Socket): void {
  socket.off('resume', pauseAgain)
  if (!socket.destroyed) socket.resume()
}

function pauseAgain(this: Socket): void {
  this.pause()
}
