/**
 * The bytes of a body as JSON. Large ones stay bytes until a worker reads them.
 */

import { GatewayError } from '@gateway/contracts/errors'
import { ExactNumber, parseExactly, readShape } from '@gateway/contracts/json'

/** A body that is too large to be parsed between the requests of others. */
export class LargeJson {
  /** In a buffer of its own, which can be handed to a worker. */
  readonly bytes: Uint8Array<ArrayBuffer>

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.bytes = bytes
  }
}

/** Up to this size a body is read before its sender's key is looked up. */
export const SMALL_BODY_BYTES = 64 * 1024
/**
 * Up to this size the event loop reads the bodies of accounts that it has served, within their share. A coding tool's 74 KB take it
 * 0.3 ms, and the worst shape of 128 KB 2 ms. A thread, and the look-up before it, would take another 0.6 ms of the edge.
 */
export const MOST_AT_ONCE_BYTES = 128 * 1024

/**
 * Gathers a body. It copies a large one of a known length piece by piece as it comes. One copy of 25 MB at the end would hold
 * the event loop for 20 ms. It allocates that memory when more than a small body has come, and the system gives it as it is
 * written to.
 */
export class BodyBytes {
  readonly #announced: number | null
  #pieces: Uint8Array[] = []
  #inOne: Uint8Array<ArrayBuffer> | null = null
  length = 0

  /** `announced`: no more will come. Null where that is not known. */
  constructor(announced: number | null) {
    this.#announced = announced
  }

  add(piece: Uint8Array): void {
    const from = this.length
    this.length += piece.length
    if (this.#announced === null || this.length <= SMALL_BODY_BYTES) this.#pieces.push(piece)
    else this.#inPlace(this.#announced).set(piece, from)
  }

  #inPlace(length: number): Uint8Array<ArrayBuffer> {
    if (this.#inOne === null) {
      this.#inOne = inOne(this.#pieces, length)
      this.#pieces = []
    }
    return this.#inOne
  }

  /** In a buffer that nobody else has. */
  own(): Uint8Array<ArrayBuffer> {
    return this.#inOne?.subarray(0, this.length) ?? inOne(this.#pieces, this.length)
  }

  /** To be read at once. */
  get bytes(): Buffer {
    const { buffer, byteOffset, byteLength } = this.#pieces.length === 1 ? this.#pieces[0]! : this.own()
    return Buffer.from(buffer, byteOffset, byteLength)
  }
}

function inOne(pieces: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}

export function parseJson(bytes: Buffer): object {
  const text = withoutMark(bytes.toString())
  const shape = readShape(text)
  if (shape.problem !== null) throw invalid(`body: ${shape.problem}`)
  let body: unknown
  try {
    body = parseExactly(text, shape)
  } catch (cause) {
    throw invalid('body: is not valid JSON', cause)
  }
  if (typeof body !== 'object' || body === null || body instanceof ExactNumber) throw invalid('body: is not valid JSON')
  return body
}

/** Some editors begin a text with its byte order mark. */
function withoutMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

export function invalid(message: string, cause?: unknown): GatewayError {
  return new GatewayError('VALIDATION_ERROR', message, {}, { cause })
}
