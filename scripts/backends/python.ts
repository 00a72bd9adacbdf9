/**
 * Python environments of our own below `node_modules/.cache`, each made once for what it holds.
 */

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '@gateway/servers/find-program'

export const CACHE = join(import.meta.dirname, '../../node_modules/.cache')
export const run = promisify(execFile)

export interface Wanted {
  /** With the version, so that a new version gets a new folder. */
  folder: string
  packages: string[]
  /** Said before it is installed. */
  notice: string
  environment?: Record<string, string>
}

/** The environment's folder. */
export async function pythonWith({ folder, packages, notice, environment = {} }: Wanted): Promise<string> {
  const path = join(CACHE, folder)
  if (existsSync(path)) return path
  if (process.env['GATEWAY_NO_INSTALL'])
    throw new Error(`${folder} is missing and GATEWAY_NO_INSTALL forbids to install it`)
  const python = findProgram('python3')
  if (!python) throw new Error('python3 is missing (Debian: apt-get install python3 python3-venv)')
  process.stderr.write(`${notice}\n`)
  const making = `${path}.new`
  await rm(making, { recursive: true, force: true })
  await run(python, ['-m', 'venv', making])
  const env = { ...process.env, ...environment }
  const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages]
  await run(join(making, 'bin', 'python'), args, { env, maxBuffer: 64 * 1024 * 1024 })
  // Only a whole environment has its name. Its scripts name the old folder, so everything runs as `python -m`.
  await rename(making, path)
  return path
}

export function pythonIn(folder: string): string {
  return join(folder, 'bin', 'python')
}
