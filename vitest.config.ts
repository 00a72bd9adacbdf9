/**
 * How tests run: each file in its own process, as many at once as the machine has cores.
 */

import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** Servers named by the environment are shared, so files that use them must take turns. */
const shared = ['NATS_URL', 'REDIS_URL', 'DATABASE_URL'].some((name) => process.env[name])

export default defineConfig({
  test: {
    include: ['{packages,services}/*/{src,test}/**/*.test.ts', '{tests,scripts,bench,chaos}/**/*.test.ts'],
    globalSetup: 'packages/testing/src/servers/shared-postgres.ts',
    pool: 'forks',
    maxWorkers: shared ? 1 : Math.min(4, availableParallelism()),
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
    // A promise nobody handles is a defect of the product: fail.
    dangerouslyIgnoreUnhandledErrors: false,
    passWithNoTests: false,
  },
})
