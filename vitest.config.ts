/**
 * How tests run: each file in its own process. First those beside their source, as many at once as the machine has cores;
 * then those of the whole system, which has a dozen processes of its own and promises with times in them, on two cores each.
 */

import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** Servers named by the environment are shared, so files that use them must take turns. */
const shared = ['NATS_URL', 'REDIS_URL', 'DATABASE_URL'].some((name) => process.env[name])

const cores = availableParallelism()
const atOnce = (most: number): number => (shared ? 1 : Math.max(1, Math.min(4, most)))

export default defineConfig({
  test: {
    globalSetup: 'packages/testing/src/servers/shared-postgres.ts',
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
    // A promise nobody handles is a defect of the product: fail.
    dangerouslyIgnoreUnhandledErrors: false,
    passWithNoTests: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'parts',
          include: ['{packages,services}/*/{src,test}/**/*.test.ts', '{scripts,bench,chaos}/**/*.test.ts'],
          maxWorkers: atOnce(cores),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: ['tests/**/*.test.ts'],
          maxWorkers: atOnce(Math.floor(cores / 2)),
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
