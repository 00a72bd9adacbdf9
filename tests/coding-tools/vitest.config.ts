/**
 * `npm run prove -- agents details`: tools that plain `npm test` does not install.
 */

import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['tests/coding-tools/**/*.test.ts'],
    globalSetup: 'dev/servers/src/shared-postgres.ts',
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 20_000,
    dangerouslyIgnoreUnhandledErrors: false,
    passWithNoTests: false,
  },
})
