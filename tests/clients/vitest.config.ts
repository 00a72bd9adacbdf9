/**
 * `npm run prove clients`: clients whose languages plain `npm test` does not need.
 */

import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['tests/clients/other-languages.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 20_000,
    dangerouslyIgnoreUnhandledErrors: false,
    passWithNoTests: false,
  },
})
