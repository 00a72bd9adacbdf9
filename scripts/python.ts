/**
 * Python environments of our own below `node_modules/.cache`, each made once for the packages that it holds.
 */

import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '@gateway/servers/find-program'
import { install } from '@gateway/servers/install'

export const CACHE = join(import.meta.dirname, '../node_modules/.cache')
export const run = promisify(execFile)

export interface Wanted {
  /** Below `node_modules/.cache` where left out. */
  cache?: string
  /** With the version, so that a new version gets a new folder. */
  folder: string
  packages: string[]
  /** Said before they are installed. */
  notice: string
  environment?: Record<string, string>
}

/** Written last: the next run must not take half an environment for a whole one. */
const COMPLETE = 'whole'
const PYTHON = { name: 'Python with venv', package: 'python3-venv', variable: 'PATH' }
const MOST_OUTPUT_BYTES = 64 * 1024 * 1024

/** The environment's folder of programs. */
export async function pythonWith({
  cache = CACHE,
  folder,
  packages,
  notice,
  environment = {},
}: Wanted): Promise<string> {
  const path = join(cache, folder)
  const programs = join(path, 'bin')
  if (existsSync(join(path, COMPLETE))) return programs
  if (process.env['GATEWAY_NO_INSTALL']) {
    throw new Error(`${packages.join(', ')} of PyPI is missing and GATEWAY_NO_INSTALL forbids to install it`)
  }
  const python = findPython() ?? (await install({ ...PYTHON, find: findPython }))
  process.stderr.write(`${notice}\n`)
  await rm(path, { recursive: true, force: true })
  await run(python, ['-m', 'venv', path])
  const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages]
  await run(join(programs, 'python'), args, {
    env: { ...process.env, ...environment },
    maxBuffer: MOST_OUTPUT_BYTES,
  })
  await writeFile(join(path, COMPLETE), '')
  return programs
}

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
