/**
 * How tests run. Units start no server; some processes run them file by file, as a process costs more than most of them.
 * Every other file has a process of its own: parts run on real servers, the others on the whole system. They wait for a
 * third to two thirds of their time, so one more than cores run at once. Four run alone. Vitest begins with the files that
 * took longest in its last run, and where it has seen none, with the largest.
 */

import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Servers named by the environment are shared, so files that use them must take turns. */
const shared = ['NATS_URL', 'REDIS_URL', 'DATABASE_URL'].some((name) => process.env[name])

const cores = availableParallelism()
const atOnce = (files: number): number => (shared ? 1 : Math.min(8, files))

/** These packages start servers, so their tests and the tests that import them are no units. */
const startServers = /(?:@gateway|packages|dev)\/(?:cluster|servers|stand-ins|testing)\b/

/** A unit stands beside its source and starts no server; the conformance suites run on real servers. */
const besideSources = [
  '{packages,services,dev}/*/src/**/*.test.ts',
  'dev/bench/{profile,report,soak}/**/*.test.ts',
  'dev/chaos/{checkers,plan}/**/*.test.ts',
  'dev/proofs/backends/**/*.test.ts',
  'scripts/{licences,prose}/**/*.test.ts',
  'scripts/*.test.ts',
]
const units = globSync(besideSources, {
  cwd: import.meta.dirname,
  exclude: (path) => path.includes('/conformance') || startServers.test(path),
}).filter((path) => {
  const source = readFileSync(join(import.meta.dirname, path), 'utf8')
  return !startServers.test(source) && !source.includes('/conformance/')
})

/** Their clients keep their rate on a busy machine, and expect answers in time. */
const alone = [
  'services/keys/src/flood.test.ts',
  'tests/chaos-slow-edge.test.ts',
  'tests/hostile-clients.test.ts',
  'tests/administration/flood.test.ts',
]

export default defineConfig({
  test: {
    globalSetup: 'dev/servers/src/shared-postgres.ts',
    pool: 'forks',
    // Only a hang shows by these: files share the cores, on a machine that may have other work.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
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
          maxWorkers: cores + 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'parts',
          exclude: ['**/node_modules/**', ...units, ...alone],
          include: ['{packages,services}/*/{src,test}/**/*.test.ts', '{dev,scripts,training}/**/*.test.ts'],
          maxWorkers: atOnce(cores + 1),
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: ['tests/**/*.test.ts'],
          // Their servers and clients are not installed for these: `npm run prove backends`, `npm run prove clients`.
          exclude: ['tests/backends/**', 'tests/coding-tools/**', 'tests/clients/other-languages.test.ts', ...alone],
          maxWorkers: atOnce(cores + 1),
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: alone,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
