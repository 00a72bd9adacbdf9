/**
 * One who reads an answer: an HTTP client of this edge, another edge on behalf of a client of its own
 * (`running-answers.ts`), or all who share an answer (`shared-answer.ts`).
 *
 * A reader reads until its answer ends or it leaves, whichever comes first. Later ends do nothing.
 */

import type { GatewayError } from '@gateway/contracts/errors'
import { REPLAYED_HEADER } from '@gateway/contracts/idempotency'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { measuredOf } from '../listen/begin-request.ts'
import type { StepResponse } from '../listen/take-steps.ts'
import { jsonAnswer, streamAnswer, type AnswerWriter, type Headers } from './answer-writer.ts'

export interface Reader {
  /** The reader reports to this source from now on. */
  listen(source: Source): void
  /** `headers` are asked for when they are sent. */
  begin(contentType: string, headers: () => Headers): void
  write(bytes: Uint8Array): void
  /** `headers` replace those of `begin` where none has been sent yet. */
  finish(headers: () => Headers): void
  fail(error: GatewayError): void
}

export interface Source {
  /** The reader has taken so many more bytes. */
  consumed(bytes: number): void
  /** The reader wants nothing any more. */
  left(): void
  /** The source has been silent for so long that headers have to be sent. */
  headersOnSilence(): Headers
}

/** The reader for whom a request runs. */
export interface Client extends Reader {
  /** Resolves when the answer has ended or the client has left; rejects with what to answer while nothing has been sent. */
  readonly answered: Promise<void>
  isOver(): boolean
  /** Forgets the answer so far, so that another router's can take its place. False: the client has some of it. */
  restart(): boolean
  /**
   * Makes the whole answer one that can be given again, before its usage is stored. Only some are. `rest`: what of it is
   * not written yet.
   */
  keep?(usage: UsageEvent, rest: Uint8Array): Promise<void>
}

export interface HttpClient extends Client {
  /** Anything has been sent, headers included. */
  begun(): boolean
  /** Leaves its source; the answer ends with this error. */
  cut(error: GatewayError): void
  /** What it reads was made for another request, or (null) for its own. */
  replays(requestId: string | null): void
}

/** The source of a client that still waits for one. */
export const NO_SOURCE: Source = { consumed() {}, left() {}, headersOnSilence: () => ({}) }

export interface ClientRequest {
  stream: boolean
  dialect?: ClientDialect | undefined
  requestId: string
}

export function httpClient(
  response: StepResponse,
  { stream, dialect = 'chat', requestId: ownId }: ClientRequest,
): HttpClient {
  const { promise: answered, resolve, reject } = Promise.withResolvers<void>()
  let source = NO_SOURCE
  let isOver = false
  let writer: AnswerWriter

  function openWriter(): AnswerWriter {
    const consumed = (bytes: number): void => source.consumed(bytes)
    if (!stream) return jsonAnswer(response, consumed)
    return streamAnswer(response, dialect, consumed, () => source.headersOnSilence())
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
    answered,
    isOver: () => isOver || response.destroyed,
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
