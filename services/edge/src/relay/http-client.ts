/**
 * The HTTP client of this edge that reads a response, as JSON or as server-sent events.
 *
 * Both forms hold back the very end (a JSON response's last bytes, a chat's `[DONE]`) until `finish`. The caller calls it
 * once the usage is stored. Both report how much the client has taken, so that a slow one slows its own backend and nobody
 * else.
 *
 * Bytes that wait for a client count as the process' memory. Where that is used up, the clients that let most of it wait lose
 * their responses.
 */

import type { ServerResponse } from 'node:http'
import type { GatewayError } from '@gateway/contracts/errors'
import { REPLAYED_HEADER } from '@gateway/contracts/idempotency'
import { RECEIPT_HEADER } from '@gateway/contracts/receipts'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { asBuffer, streamForm } from '../core/event-stream.ts'
import { measuredOf, type StepResponse } from '../http/take-steps.ts'
import { responseReservationOf } from '../http/memory-budget.ts'
import { type Client, type Consumed, type Headers, NO_SOURCE } from './client-writer.ts'

export interface HttpClient extends Client {
  /** Anything has been sent, headers included. */
  begun(): boolean
  /** Leaves its source; the response ends with this error. */
  cut(error: GatewayError): void
  /** It reads the response to another request, or (null) to its own. */
  replays(requestId: string | null): void
}

export interface ClientRequest {
  stream: boolean
  dialect?: ClientDialect | undefined
  requestId: string
}

export function httpClient(
  response: StepResponse,
  { stream, dialect = 'chat', requestId: ownId }: ClientRequest,
): HttpClient {
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
  let source = NO_SOURCE
  let isOver = false
  let writer: ResponseWriter

  function openWriter(): ResponseWriter {
    const consumed = (bytes: number): void => source.consumed(bytes)
    if (!stream) return jsonResponse(response, consumed)
    return streamResponse(response, { dialect, requestId: ownId }, consumed, () => source.headersOnSilence())
  }

  response.once('close', () => {
    isOver = true
    source.left()
    resolve()
  })

  function fail(error: GatewayError): void {
    if (isOver) return
    isOver = true
    if (!writer.begun()) return reject(error)
    measuredOf(response).failure = error.code
    writer.fail(error)
    resolve()
  }

  return {
    ended,
    isOver: () => isOver || response.destroyed,
    shownOf: response.shownOf?.bind(response),
    listen(next) {
      writer ??= openWriter()
      source = next
    },
    begun: () => writer.begun(),
    begin: (contentType, headers) => writer.begin(contentType, headers),
    write: (bytes) => writer.write(bytes),
    restart: () => writer.restart(),
    finish(headers) {
      if (isOver) return
      isOver = true
      writer.finish(headers)
      resolve()
    },
    fail,
    cut(error) {
      source.left()
      fail(error)
    },
    replays(requestId) {
      if (response.headersSent) return
      response.setHeader('x-request-id', requestId ?? ownId)
      if (requestId === null) response.removeHeader(REPLAYED_HEADER)
      else response.setHeader(REPLAYED_HEADER, 'true')
    },
  }
}

/** Writes the client's response. One that breaks after its begin never looks like a complete one. */
type ResponseWriter = Pick<HttpClient, 'begun' | 'begin' | 'write' | 'restart' | 'finish' | 'fail'>

/** A larger response is sent as it comes; up to this it is sent in one piece, with its length and final headers. */
const HELD_JSON_BYTES = 256 * 1024
const SHORT_BYTES = 16 * 1024

export function jsonResponse(response: ServerResponse, consumed: Consumed): ResponseWriter {
  const send = sendingTo(response, consumed)
  let held: Uint8Array[] = []
  let heldBytes = 0
  let contentType = ''
  let headersOfBegin: () => Headers = () => ({})
  const reservation = responseReservationOf(response)

  return {
    begun: () => response.headersSent,
    begin(type, headers) {
      contentType = type
      headersOfBegin = headers
    },
    write(bytes) {
      held.push(bytes)
      heldBytes += bytes.byteLength
      if (!response.headersSent && heldBytes <= HELD_JSON_BYTES) {
        if (reservation.reserve(bytes.byteLength)) consumed(bytes.byteLength)
        else response.destroy()
        return
      }
      if (!response.headersSent) {
        response.writeHead(200, { ...trailed(response, headersOfBegin()), 'content-type': contentType })
        // They count again where they wait for the client.
        reservation.release(heldBytes - bytes.byteLength)
      }
      const last = held.pop()
      for (const earlier of held) send(earlier)
      held = last ? [last] : []
      heldBytes = last?.byteLength ?? 0
    },
    restart() {
      if (response.headersSent) return false
      reservation.release(heldBytes)
      held = []
      heldBytes = 0
      return true
    },
    finish(headersNow) {
      const headers = headersNow()
      const receipt = headers[RECEIPT_HEADER]
      if (!response.headersSent) {
        const length = receipt === undefined && { 'content-length': heldBytes }
        response.writeHead(200, { ...trailed(response, headers), 'content-type': contentType, ...length })
      }
      if (receipt !== undefined) response.addTrailers({ [RECEIPT_HEADER]: receipt })
      const last = held.length === 1 ? held[0]! : Buffer.concat(held)
      // Headers and a short body in one string are one write; bytes would be a second piece beside the headers.
      if (last.byteLength <= SHORT_BYTES) response.end(asBuffer(last).toString('latin1'), 'latin1')
      else response.end(last)
    },
    fail() {
      response.destroy()
    },
  }
}

/** A client of HTTP/1.0 gets no trailers, and none may be announced to it. */
function trailed(response: ServerResponse, headers: Headers): Headers {
  if (headers['trailer'] === undefined || response.req.httpVersionMinor > 0) return headers
  const { trailer: _, ...others } = headers
  return others
}

/** A stream's headers are sent by then, whether its backend has begun or not. */
export const KEEP_ALIVE_AFTER_MS = 15_000

export function streamResponse(
  response: ServerResponse,
  { dialect, requestId }: { dialect: ClientDialect; requestId: string },
  consumed: Consumed,
  headersOnSilence: () => Headers,
): ResponseWriter {
  const send = sendingTo(response, consumed)
  const form = streamForm(dialect, requestId)
  const keepAlive = setInterval(() => {
    // It was refused before it began, and the refusal waits for its client.
    if (response.writableEnded) return clearInterval(keepAlive)
    if (!response.headersSent) begin('text/event-stream', headersOnSilence)
    response.write(form.keepAlive)
  }, KEEP_ALIVE_AFTER_MS)
  response.once('close', () => clearInterval(keepAlive))

  let hasContent = false

  function begin(contentType: string, headers: () => Headers): void {
    if (response.headersSent) return
    const ofStreams = { 'content-type': contentType, 'cache-control': 'no-cache', 'x-accel-buffering': 'no' }
    response.writeHead(200, { ...headers(), ...ofStreams })
    response.flushHeaders()
  }

  return {
    begun: () => response.headersSent,
    begin,
    write(bytes) {
      hasContent = true
      keepAlive.refresh()
      form.note?.(bytes)
      send(bytes)
    },
    // Headers and comments are the same for every router's response.
    restart: () => !hasContent,
    finish() {
      clearInterval(keepAlive)
      response.end(form.done)
    },
    fail(error) {
      clearInterval(keepAlive)
      response.end(form.failure(error))
    },
  }
}

/** Sends bytes and reports them as consumed once the client's socket takes more again. */
function sendingTo(response: ServerResponse, consumed: Consumed): (bytes: Uint8Array) => void {
  const reservation = responseReservationOf(response)
  let buffered = 0
  response.on('drain', () => {
    consumed(buffered)
    reservation.release(buffered)
    buffered = 0
  })
  return (bytes) => {
    if (response.write(bytes)) return consumed(bytes.byteLength)
    buffered += bytes.byteLength
    if (!reservation.reserve(bytes.byteLength)) response.destroy()
  }
}
