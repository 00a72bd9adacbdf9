/**
 * Unpacks the short body of an error that a backend has compressed although the router did not allow it. Its size is
 * bounded, packed and unpacked. The result is empty when the body cannot be read.
 */

import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress, type ZlibOptions } from 'node:zlib'

type Unpacker = (bytes: Buffer, options: Pick<ZlibOptions, 'maxOutputLength'>) => Promise<Buffer>

const inflated = promisify(inflate) as Unpacker
const UNPACKERS = new Map<string, Unpacker>([
  ['identity', (bytes) => Promise.resolve(bytes)],
  ['gzip', promisify(gunzip) as Unpacker],
  ['x-gzip', promisify(gunzip) as Unpacker],
  // Some servers leave its two bytes of header out.
  [
    'deflate',
    (bytes, options) =>
      isZlib(bytes) ? inflated(bytes, options) : (promisify(inflateRaw) as Unpacker)(bytes, options),
  ],
  ['br', promisify(brotliDecompress) as Unpacker],
  ['zstd', promisify(zstdDecompress) as Unpacker],
])
const MOST_LAYERS = 3
const NOTHING = Buffer.alloc(0)

/** `encodings`: the value of `content-encoding`, in the order in which they were applied. */
export async function unpack(bytes: Buffer, encodings: string, mostBytes: number): Promise<Buffer> {
  const layers = encodings.split(',', MOST_LAYERS + 1).map((name) => name.trim().toLowerCase())
  if (layers.length > MOST_LAYERS) return NOTHING
  let read = bytes
  for (const layer of layers.reverse()) {
    const unpacker = UNPACKERS.get(layer)
    if (unpacker === undefined) return NOTHING
    read = await unpacker(read, { maxOutputLength: mostBytes }).catch(() => NOTHING)
    if (read.length === 0) return NOTHING
  }
  return read
}

/** Two bytes that name deflate and are a multiple of 31 (RFC 1950). */
function isZlib(bytes: Buffer): boolean {
  return bytes.length > 2 && (bytes[0]! & 0x0f) === 8 && bytes.readUInt16BE(0) % 31 === 0
}
