/** Writes the data that the classifier ships; `src/read-packed.ts` reads it. The same content gives the same bytes. */

import { writeFileSync } from 'node:fs'
import { brotliCompressSync, constants } from 'node:zlib'

/** Returns the size in bytes. */
export function writePacked(name: string, content: object): number {
  const text = Buffer.from(JSON.stringify(content))
  const packed = brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: text.length } })
  writeFileSync(new URL(`../../packages/auto/src/${name}`, import.meta.url), packed)
  return packed.length
}
