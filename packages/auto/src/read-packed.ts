/**
 * Reads data that this package ships, packed with Brotli because it is large: when it is imported, as an import of JSON is
 * read. A missing file keeps the edge from starting.
 */

import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'

/** A file beside this one, as `train/write-packed.ts` wrote it. */
export function readPacked(name: string): unknown {
  return JSON.parse(brotliDecompressSync(readFileSync(new URL(name, import.meta.url))).toString())
}
