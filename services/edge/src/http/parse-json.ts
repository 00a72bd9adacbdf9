/**
 * The bytes of a body as JSON. Large ones stay bytes until a worker reads them.
 */

import { GatewayError } from '@gateway/contracts/errors'
import { parseExactly, readShape } from '@gateway/contracts/json'

/** A body that is too large to be parsed between the requests of others. */
export class LargeJson {
  readonly bytes: Uint8Array<ArrayBuffer>

  constructor(pieces: readonly Uint8Array[], length: number) {
    // A buffer of its own can be handed to a worker.
    this.bytes = new Uint8Array(length)
    let at = 0
    for (const piece of pieces) {
      this.bytes.set(piece, at)
      at += piece.length
    }
  }
}

export function parseJson(bytes: Buffer): object {
  const { problem } = readShape(bytes)
  if (problem !== null) throw invalid(`body: ${problem}`)
  let body: unknown
  try {
    body = parseExactly(withoutMark(bytes.toString()))
  } catch (cause) {
    throw invalid('body: is not valid JSON', cause)
  }
  if (typeof body !== 'object' || body === null) throw invalid('body: is not valid JSON')
  return body
}

/** Some editors begin a text with its byte order mark. */
function withoutMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

export function invalid(message: string, cause?: unknown): GatewayError {
  return new GatewayError('VALIDATION_ERROR', message, {}, { cause })
}
