/**
 * `npm run check`: every static check, each with its own words, all of them even when one fails.
 */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const MODULES = join(ROOT, 'node_modules')

const CHECKS: [name: string, ...command: string[]][] = [
  ['types', join(MODULES, 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.json'],
  ['types of the console', join(MODULES, 'typescript', 'bin', 'tsc'), '-p', 'services/console/tsconfig.json'],
  ['types of its tests', join(MODULES, 'typescript', 'bin', 'tsc'), '-p', 'tests/console/tsconfig.json'],
  ['lint', join(MODULES, 'oxlint', 'bin', 'oxlint'), '--type-aware'],
  ['format', join(MODULES, 'oxfmt', 'bin', 'oxfmt'), '--check'],
  ['boundaries', join(import.meta.dirname, 'check-boundaries.ts')],
  ['licences', join(import.meta.dirname, 'check-licences.ts')],
  ['documents', join(import.meta.dirname, 'check-prose.ts')],
  ['prose of the code', join(import.meta.dirname, 'check-code-prose.ts')],
  ['deploy', join(import.meta.dirname, 'deploy', 'check.ts')],
]

// The linter looks its companion for types up on the path.
const env = { ...process.env, PATH: `${join(MODULES, '.bin')}:${process.env['PATH'] ?? ''}` }
const failed = CHECKS.filter(([name, ...command]) => {
  console.log(`— ${name}`)
  const { status, error } = spawnSync(process.execPath, command, { cwd: ROOT, stdio: 'inherit', env })
  if (error) console.error(error.message)
  return status !== 0
}).map(([name]) => name)

console.log(failed.length === 0 ? 'check: all passed' : `check: failed: ${failed.join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1
