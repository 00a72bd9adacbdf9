/**
 * JSON messages as bytes, in both directions.
 */

export function encodeJson(message: object): Uint8Array {
  return Buffer.from(JSON.stringify(message))
}

/** Throws a SyntaxError for bytes that are no JSON. */
export function decodeJson(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
}
