/**
 * `npm test`: makes sure that the real servers are there, installing them when it may. Then it runs vitest with the given
 * arguments. `--project units` needs no servers and starts at once. Ends as vitest ends: same exit code, same signal. The last line but vitest's own is plain, for machines:
 * `120 passed, 0 failed`.
 */

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { prepareServers } from '@gateway/servers/start'

const ROOT = join(import.meta.dirname, '..')
const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
const PASSED_ON: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

const args = process.argv.slice(2)
const needsServers = args[args.indexOf('--project') + 1] !== 'units'

try {
  if (needsServers) for (const source of await prepareServers()) console.error(source)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}

const reporters = ['--reporter=default', `--reporter=${join(import.meta.dirname, 'count-tests.ts')}`]
const vitest = spawn(process.execPath, [VITEST, 'run', ...reporters, ...args], {
  cwd: ROOT,
  stdio: 'inherit',
  // Whole-system tests start the services many times over.
  env: { ...process.env, NODE_COMPILE_CACHE: join(ROOT, 'node_modules', '.cache', 'compile') },
})
for (const signal of PASSED_ON) process.on(signal, () => vitest.kill(signal))
vitest.on('exit', (code, signal) => {
  for (const name of PASSED_ON) process.removeAllListeners(name)
  if (signal) process.kill(process.pid, signal)
  else process.exitCode = code ?? 1
})
