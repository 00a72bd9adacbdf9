/**
 * `npm run prove backends`: real inference servers and real clients, which plain `npm test` does not install. One file
 * after the other: each needs the whole machine to generate.
 */

import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['tests/backends/**/*.test.ts'],
    globalSetup: 'dev/servers/src/shared-postgres.ts',
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 20_000,
    dangerouslyIgnoreUnhandledErrors: false,
    passWithNoTests: false,
  },
})
