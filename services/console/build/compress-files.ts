/**
 * Writes a Brotli and a gzip form beside every built file that they make smaller. The server then compresses nothing.
 */

import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

const COMPRESSIBLE = /\.(?:js|css|html|svg|json|txt)$/
/** The last two steps cost as much time as everything else and gain a few percent. */
const BROTLI_QUALITY = 9

export function compressFiles(): Plugin {
  return {
    name: 'compress-files',
    apply: 'build',
    enforce: 'post',
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        for (const file of Object.values(bundle)) {
          if (!COMPRESSIBLE.test(file.fileName)) continue
          const text = Buffer.from(file.type === 'chunk' ? file.code : file.source)
          const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }
          this.emitFile({ type: 'asset', fileName: `${file.fileName}.br`, source: brotliCompressSync(text, brotli) })
          this.emitFile({ type: 'asset', fileName: `${file.fileName}.gz`, source: gzipSync(text, { level: 9 }) })
        }
      },
    },
  }
}
