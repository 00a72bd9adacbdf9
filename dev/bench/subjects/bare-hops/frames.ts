/**
 * Pieces of responses on their way from router to edge. A message carries the pieces of many responses, one behind the other.
 */

export const kinds = { head: 0, data: 1, end: 2 } as const
export type Kind = (typeof kinds)[keyof typeof kinds]

const HEAD_BYTES = 9

/** The response's number, the kind, the length, and the bytes. */
export function writeFrame(response: number, kind: Kind, bytes: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(HEAD_BYTES + bytes.length)
  frame.writeUInt32LE(response, 0)
  frame.writeUInt8(kind, 4)
  frame.writeUInt32LE(bytes.length, 5)
  frame.set(bytes, HEAD_BYTES)
  return frame
}

export function readFrames(message: Uint8Array, onFrame: (response: number, kind: Kind, bytes: Buffer) => void): void {
  const buffer = Buffer.from(message.buffer, message.byteOffset, message.length)
  for (let at = 0; at < buffer.length;) {
    const begin = at + HEAD_BYTES
    const end = begin + buffer.readUInt32LE(at + 5)
    onFrame(buffer.readUInt32LE(at), buffer.readUInt8(at + 4) as Kind, buffer.subarray(begin, end))
    at = end
  }
}
