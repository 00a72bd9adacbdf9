/**
 * One who reads an answer that others may read, too: an HTTP client of this edge, or another edge on behalf of one of
 * its own (`serve-followers.ts`).
 */

import type { GatewayError } from '@gateway/contracts/errors'
import { REPLAYED_HEADER } from '@gateway/contracts/idempotency'
import { measuredOf } from '../listen/measure-request.ts'
import type { StepResponse } from '../listen/walk.ts'
import { jsonAnswer, streamAnswer, type AnswerWriter, type Headers } from '../relay/answer-writer.ts'

export interface Reader {
  begin(contentType: string, headers: Headers): void
  write(bytes: Uint8Array): void
  finish(headers: Headers): void
  fail(error: GatewayError): void
  /** Whom it tells what it does, from now on. */
  listen(source: Source): void
}

export interface Source {
  /** The reader has taken so much more. */
  consumed(bytes: number): void
  /** The reader wants nothing any more. */
  left(): void
  /** There has been nothing to read for so long that headers have to be committed. */
  headersOnSilence(): Headers
}

export interface ClientReader extends Reader {
  /** Resolves when the client has been answered or has left; rejects with what to answer while nothing has been sent. */
  readonly answered: Promise<void>
  /** Answered, or gone. */
  isOver(): boolean
  /** Forgets what was read so far, to read another answer. False: the client has seen some of it. */
  restart(): boolean
  /** Leaves what it reads, with this for its end. */
  cut(error: GatewayError): void
  /** What it reads was made for another request, or (null) for its own. */
  replays(requestId: string | null): void
}

const NO_SOURCE: Source = { consumed() {}, left() {}, headersOnSilence: () => ({}) }

export function clientReader(
  response: StepResponse,
  { stream, requestId: ownId }: { stream: boolean; requestId: string },
): ClientReader {
  const { promise: answered, resolve, reject } = Promise.withResolvers<void>()
  // Whoever waits is told; while nobody does yet, that is no defect.
  answered.catch(() => {})
  let source = NO_SOURCE
  let isOver = false
  const consumed = (bytes: number): void => source.consumed(bytes)
  const openWriter = (): AnswerWriter =>
    stream ? streamAnswer(response, consumed, () => source.headersOnSilence()) : jsonAnswer(response, consumed)
  let writer = openWriter()

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
    answered,
    isOver: () => isOver,
    begin: (contentType, headers) => writer.begin(contentType, () => headers),
    write: (bytes) => writer.write(bytes),
    finish(headers) {
      if (isOver) return
      isOver = true
      writer.finish(() => headers)
      resolve()
    },
    fail,
    cut(error) {
      source.left()
      fail(error)
    },
    listen(next) {
      source = next
    },
    restart() {
      source = NO_SOURCE
      if (writer.begun()) return false
      // A stream's writer holds nothing back and goes on keeping the connection alive.
      if (!stream) writer = openWriter()
      return true
    },
    replays(requestId) {
      if (response.headersSent) return
      response.setHeader('x-request-id', requestId ?? ownId)
      if (requestId === null) response.removeHeader(REPLAYED_HEADER)
      else response.setHeader(REPLAYED_HEADER, 'true')
    },
  }
}
