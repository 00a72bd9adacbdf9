/**
 * Writes an answer to the client, as JSON or as server-sent events. Both hold back the very end (a JSON answer's last
 * bytes, a chat's `[DONE]`) until `finish`, which the caller calls once the usage is stored; both tell how much the
 * client has taken, so that a slow one slows its own backend and nobody else. What waits for a client counts as the
 * process' memory; where that is used up, those who let most of it wait lose their answers.
 */

import type { ServerResponse } from 'node:http'
import type { GatewayError } from '@gateway/contracts/errors'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { streamForm } from '../core/event-stream.ts'
import { answerHoldOf } from '../read/bytes-in-flight.ts'

export type Headers = Record<string, string>

export interface AnswerWriter {
  /** Whether anything has been sent, so that an error can no longer have a status of its own. */
  begun(): boolean
  /** `headers` are asked for when they are sent. */
  begin(contentType: string, headers: () => Headers): void
  write(bytes: Uint8Array): void
  /** Forgets the answer so far, so that another can take its place. False: the client has some of it. */
  restart(): boolean
  /** `headers` replace those of `begin` where none has been sent yet. */
  finish(headers: () => Headers): void
  /** The answer broke after its begin. Never looks like a complete one. */
  fail(error: GatewayError): void
}

export type Consumed = (bytes: number) => void

/** A larger answer is sent as it comes; up to this it is sent whole, with its length and final headers. */
const HELD_JSON_BYTES = 256 * 1024
const SHORT_BYTES = 16 * 1024

export function jsonAnswer(response: ServerResponse, consumed: Consumed): AnswerWriter {
  const send = sendingTo(response, consumed)
  let held: Uint8Array[] = []
  let heldBytes = 0
  let contentType = ''
  let headersOfBegin: () => Headers = () => ({})
  const hold = answerHoldOf(response)

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
        if (hold.owe(bytes.byteLength)) consumed(bytes.byteLength)
        else response.destroy()
        return
      }
      if (!response.headersSent) {
        response.writeHead(200, { ...headersOfBegin(), 'content-type': contentType })
        // They count anew where they wait for the client.
        hold.paid(heldBytes - bytes.byteLength)
      }
      const last = held.pop()
      for (const earlier of held) send(earlier)
      held = last ? [last] : []
      heldBytes = last?.byteLength ?? 0
    },
    restart() {
      if (response.headersSent) return false
      hold.paid(heldBytes)
      held = []
      heldBytes = 0
      return true
    },
    finish(headers) {
      if (!response.headersSent) {
        response.writeHead(200, { ...headers(), 'content-type': contentType, 'content-length': heldBytes })
      }
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

/** A stream's headers are sent by then, whether its backend has begun or not. */
export const KEEP_ALIVE_AFTER_MS = 15_000

export function streamAnswer(
  response: ServerResponse,
  dialect: ClientDialect,
  consumed: Consumed,
  headersOnSilence: () => Headers,
): AnswerWriter {
  const send = sendingTo(response, consumed)
  const form = streamForm(dialect)
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
    // Headers and comments are the same for every router's answer.
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

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Sends bytes and reports them as consumed once the client's socket has room again. */
function sendingTo(response: ServerResponse, consumed: Consumed): (bytes: Uint8Array) => void {
  const hold = answerHoldOf(response)
  let owed = 0
  response.on('drain', () => {
    consumed(owed)
    hold.paid(owed)
    owed = 0
  })
  return (bytes) => {
    if (response.write(bytes)) return consumed(bytes.byteLength)
    owed += bytes.byteLength
    if (!hold.owe(bytes.byteLength)) response.destroy()
  }
}
