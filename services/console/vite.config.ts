/**
 * Builds the console: one HTML page with one entry, and a chunk for each of the console's pages. A file's name has the hash of
 * its content, and its compressed forms stand beside it.
 */

import { defineConfig } from 'vite'
import { compressFiles } from './build/compress-files.ts'
import { themeVariables } from './build/theme-variables.ts'

/** Nobody can act on these warnings: `'use client'` is for server rendering, and compression takes time. */
const QUIET = new Set(['MODULE_LEVEL_DIRECTIVE', 'PLUGIN_TIMINGS'])

// A test or a shell may have set NODE_ENV: every build gets React's small and fast form.
process.env['NODE_ENV'] = 'production'

export default defineConfig({
  root: import.meta.dirname,
  // Where the edge serves it; `node scripts/ensure-console.mjs --base /elsewhere/` for another place.
  base: '/console/',
  plugins: [themeVariables(), compressFiles()],
  oxc: { jsx: { runtime: 'automatic' } },
  build: {
    // The first that know `light-dark()`, of spring 2024: older targets would have it rewritten, and it fail.
    target: ['chrome123', 'edge123', 'firefox120', 'safari17.5'],
    // A page's styles and fonts are requests to the gateway: nothing is inlined, so the policy needs no `data:`.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: { onLog: (level, log, print) => !QUIET.has(log.code ?? '') && print(level, log) },
  },
})
