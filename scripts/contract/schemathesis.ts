/**
 * Finds Schemathesis, which asks a running server what its OpenAPI document promises: `SCHEMATHESIS` in the environment,
 * else a Python environment of its own below `node_modules/.cache`, made once for each version.
 */

import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '@gateway/servers/find-program'
import { install } from '@gateway/servers/install'

/** Published 2026; its checks grow with its versions, so a new one is taken on purpose. */
const VERSION = '4.32.5'
const FOLDER = join(import.meta.dirname, '../../node_modules/.cache', `schemathesis-${VERSION}`)
const run = promisify(execFile)

export async function findSchemathesis(): Promise<string> {
  const named = process.env['SCHEMATHESIS']
  if (named) return named
  const program = join(FOLDER, 'bin', 'schemathesis')
  if (existsSync(program)) return program
  const python = findPython() ?? (await install({ ...PYTHON, find: findPython }))
  process.stderr.write(`installing Schemathesis ${VERSION}\n`)
  await rm(FOLDER, { recursive: true, force: true })
  try {
    await run(python, ['-m', 'venv', FOLDER])
    await run(join(FOLDER, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', `schemathesis==${VERSION}`])
  } catch (error) {
    // The next run must not take half an environment for a whole one.
    await rm(FOLDER, { recursive: true, force: true })
    throw error
  }
  return program
}

const PYTHON = { name: 'Python with venv', package: 'python3-venv', variable: 'SCHEMATHESIS' }

function findPython(): string | undefined {
  const python = findProgram('python3')
  if (!python) return undefined
  try {
    execFileSync(python, ['-c', 'import venv, ensurepip'], { stdio: 'ignore' })
    return python
  } catch {
    return undefined
  }
}
