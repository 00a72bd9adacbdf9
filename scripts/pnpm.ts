/** Runs the project's pnpm with the given arguments: for occasional work on packages. */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { PNPM } from './pnpm-version.mjs'

const ROOT = join(import.meta.dirname, '..')
const { status } = spawnSync('npx', ['--yes', PNPM, ...process.argv.slice(2)], { cwd: ROOT, stdio: 'inherit' })
process.exitCode = status ?? 1
