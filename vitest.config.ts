/**
 * How tests run. First units, which start no server: one process a core runs them file by file, since a process costs more
 * than most of them. Then parts, on real servers, each file in its own process, as many as there are cores. Last the whole
 * system: each test has a dozen processes and promises with times in them, so it gets two cores.
 */

import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Servers named by the environment are shared, so files that use them must take turns. */
const shared = ['NATS_URL', 'REDIS_URL', 'DATABASE_URL'].some((name) => process.env[name])

const cores = availableParallelism()
const atOnce = (most: number): number => (shared ? 1 : Math.max(1, Math.min(4, most)))

/** These packages start servers, so their tests and the tests that import them are no units. */
const startServers = /(?:@gateway|packages)\/(?:cluster|servers|stand-ins|testing)\b/

/** A unit stands beside its source and starts no server; the conformance suites run on real servers. */
const units = globSync('{packages,services}/*/src/**/*.test.ts', {
  cwd: import.meta.dirname,
  exclude: (path) => path.includes('/conformance') || startServers.test(path),
}).filter((path) => {
  const source = readFileSync(join(import.meta.dirname, path), 'utf8')
  return !startServers.test(source) && !source.includes('/conformance/')
})

export default defineConfig({
  test: {
    globalSetup: 'packages/servers/src/shared-postgres.ts',
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
          name: 'units',
          include: units,
          isolate: false,
          maxWorkers: cores,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'parts',
          exclude: units,
          include: ['{packages,services}/*/{src,test,train}/**/*.test.ts', '{scripts,bench,chaos}/**/*.test.ts'],
          maxWorkers: atOnce(cores),
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: ['tests/**/*.test.ts'],
          // Their servers and clients are not installed for these: `npm run test:backends`.
          exclude: ['tests/backends/**', 'tests/coding-tools/**'],
          maxWorkers: atOnce(Math.floor(cores / 2)),
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
