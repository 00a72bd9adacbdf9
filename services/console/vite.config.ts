/**
 * How the console is built: one page, one entry, each of its pages a chunk of its own, files named by their content and
 * each with its compressed forms beside it.
 */

import { defineConfig } from 'vite'
import { compressFiles } from './build/compress-files.ts'
import { themeVariables } from './build/theme-variables.ts'

/** Nobody can act on these warnings: `'use client'` is for servers that render, and compressing takes its time. */
const QUIET = new Set(['MODULE_LEVEL_DIRECTIVE', 'PLUGIN_TIMINGS'])

// Whoever builds it, a test or a person with NODE_ENV in their shell: people get the small and fast form of React.
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
