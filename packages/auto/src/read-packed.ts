/**
 * Reads data that this package ships, packed with Brotli because it is large. It is read when its module is imported, like an
 * import of JSON, so a missing file keeps the edge from starting.
 */

import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'

/** Reads a file beside this one; `training/auto/write-packed.ts` writes it. */
export function readPacked(name: string): unknown {
  return JSON.parse(brotliDecompressSync(readFileSync(new URL(name, import.meta.url))).toString())
}

/** Decodes numbers of two bytes each, the lower first, in base64. */
export function unpackPairs(base64: string): Uint16Array {
  const bytes = Buffer.from(base64, 'base64')
  return Uint16Array.from({ length: bytes.length / 2 }, (_, place) => bytes.readUInt16LE(2 * place))
}
