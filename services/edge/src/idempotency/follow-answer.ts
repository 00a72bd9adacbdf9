/**
 * Reads an answer that another edge runs, for a client of this one.
 */

import { decodeJson, encodeJson } from '@gateway/bus/json'
import type { Bus } from '@gateway/bus/port'
import { GatewayError, isErrorCode } from '@gateway/contracts/errors'
import { followedEnd, followedFailure, followedHead, type FollowRequest } from '@gateway/contracts/idempotency'
import { subjects } from '@gateway/contracts/subjects'
import type { HttpClient } from '../relay/reader.ts'

/** A busy edge takes a moment; a dead one is known to be so at once. */
const ACCEPT_TIMEOUT_MS = 1_000
const NO_BODY = new Uint8Array(0)

/**
 * Resolves with whether the client has been answered. False: the other edge is gone or no longer has the answer, and the
 * client has seen nothing of it.
 */
export function followAnswer(bus: Bus, owner: string, request: FollowRequest, reader: HttpClient): Promise<boolean> {
  return new Promise((resolve) => {
    const job = bus.dispatch(
      {
        subject: subjects.answers(owner),
        header: encodeJson(request),
        body: NO_BODY,
        acceptTimeoutMs: ACCEPT_TIMEOUT_MS,
      },
      {
        onHead(bytes) {
          const { contentType, headers } = followedHead.parse(decodeJson(bytes))
          reader.begin(contentType, () => headers)
        },
        onData: (bytes) => reader.write(bytes),
        onEnd(bytes) {
          const { headers } = followedEnd.parse(decodeJson(bytes))
          reader.finish(() => headers)
          resolve(true)
        },
        onFailure(bytes) {
          const { code, message, details } = followedFailure.parse(decodeJson(bytes))
          // A newer edge's code is no code of this one.
          reader.fail(new GatewayError(isErrorCode(code) ? code : 'INTERNAL_ERROR', message, details))
          resolve(true)
        },
        onUnavailable: () => resolve(false),
        onLost() {
          // Another answer has headers of its own.
          if (!reader.begun() && reader.restart()) return resolve(false)
          reader.fail(interrupted())
          resolve(true)
        },
      },
    )
    reader.listen({
      consumed: (bytes) => job.consumed(bytes),
      left() {
        job.stop()
        resolve(true)
      },
      headersOnSilence: () => ({}),
    })
  })
}

function interrupted(): GatewayError {
  return new GatewayError('SERVICE_UNAVAILABLE', 'The answer was interrupted; try again with the same Idempotency-Key')
}
