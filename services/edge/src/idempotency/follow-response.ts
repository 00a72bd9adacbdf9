/**
 * Reads a response that another request runs, for a client of this edge. The response comes from this edge's memory or from
 * another edge. The bus may cut a large event into several frames. The client gets the event in one piece, so that a life
 * sign or a failure never stands inside it.
 */

import type { Bus } from '@gateway/bus/port'
import { decodeJson, encodeJson } from '@gateway/rpc/json'
import { GatewayError, isErrorCode } from '@gateway/contracts/errors'
import { followedEnd, followedFailure, followedHead, type FollowRequest } from '@gateway/contracts/idempotency'
import { subjects } from '@gateway/contracts/subjects'
import type { ClientDialect } from '@gateway/contracts/vendors'
import type { BytesInFlight } from '../http/memory-budget.ts'
import type { HttpClient } from '../relay/http-client.ts'
import { openResponseWindow } from '../relay/client-writer.ts'
import type { SharedResponse } from './shared-response.ts'

export interface FollowContext {
  bus: Bus
  bytes: BytesInFlight
}

/** A busy edge takes a moment; a dead one is known to be so at once. */
const ACCEPT_TIMEOUT_MS = 1_000
const NO_BODY = new Uint8Array(0)

/**
 * Resolves to true when the client has its response. False: the other edge is gone or no longer has the response, and the
 * client has seen nothing of it. `dialect`: a stream's; null where the response is JSON.
 */
export function followResponse(
  { bus, bytes }: FollowContext,
  owner: string,
  request: FollowRequest,
  reader: HttpClient,
  dialect: ClientDialect | null,
): Promise<boolean> {
  return new Promise((resolve) => {
    const responseWindow = openResponseWindow(dialect, {
      reader,
      consumed: (count) => job.consumed(count),
      reservation: bytes.reserveResponse(request.account),
      onOutOfMemory: () => reader.cut(outOfMemory()),
    })
    const over = (isServed: boolean): void => {
      responseWindow.close()
      resolve(isServed)
    }
    const job = bus.dispatch(
      {
        subject: subjects.answers(owner),
        header: encodeJson(request),
        body: NO_BODY,
        acceptTimeoutMs: ACCEPT_TIMEOUT_MS,
      },
      {
        onHead(frame) {
          const { contentType, headers } = followedHead.parse(decodeJson(frame))
          reader.begin(contentType, () => headers)
        },
        onData: (piece) => responseWindow.pass(piece),
        onEnd(frame) {
          const { headers } = followedEnd.parse(decodeJson(frame))
          const rest = responseWindow.rest()
          if (rest.length > 0) reader.write(rest)
          reader.finish(() => headers)
          over(true)
        },
        onFailure(frame) {
          const { code, message, details } = followedFailure.parse(decodeJson(frame))
          // A newer edge's code is no code of this one.
          const error = new GatewayError(isErrorCode(code) ? code : 'INTERNAL_ERROR', message, details)
          over(failJoined(reader, error))
        },
        onUnavailable: () => over(false),
        onLost: () => over(breakOff(reader)),
      },
    )
    reader.listen({
      consumed: (count) => responseWindow.taken(count),
      left() {
        job.stop()
        over(true)
      },
      headersOnSilence: () => ({}),
    })
  })
}

/** As `followResponse`, for a response that this edge runs. */
export function joinResponse(response: SharedResponse, reader: HttpClient): Promise<boolean> {
  return new Promise((resolve) => {
    const joined = { ...reader, fail: (error: GatewayError) => resolve(failJoined(reader, error)) }
    if (!response.join(joined)) return resolve(false)
    const served = () => resolve(true)
    reader.ended.then(served, served)
  })
}

/** False: the failure concerns the key of the first request alone, and this client can have another run. */
function failJoined(reader: HttpClient, error: GatewayError): boolean {
  if (error.code === 'INVALID_KEY') return breakOff(reader)
  reader.fail(error)
  return true
}

/** False: the client has seen nothing. Another response has headers of its own. */
function breakOff(reader: HttpClient): boolean {
  if (!reader.begun() && reader.restart()) return false
  reader.fail(interrupted())
  return true
}

function outOfMemory(): GatewayError {
  return new GatewayError('SERVICE_UNAVAILABLE', 'The gateway has no room for the end of this answer')
}

function interrupted(): GatewayError {
  return new GatewayError('SERVICE_UNAVAILABLE', 'The answer was interrupted; try again with the same Idempotency-Key')
}
