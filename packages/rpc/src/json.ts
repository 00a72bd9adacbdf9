/** JSON in the bytes of a bus message. */

export function encodeJson(message: object): Uint8Array {
  return Buffer.from(JSON.stringify(message))
}

/** Throws a SyntaxError when the bytes are not JSON. */
export function decodeJson(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
}
