/**
 * npm packages that only some tests need, below `node_modules/.cache`: not among the workspace's own.
 */

import { existsSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CACHE, run } from './python.ts'

export interface WantedPackages {
  /** Below `node_modules/.cache` where left out. */
  cache?: string
  /** With a version, so that a new version gets a new folder. */
  folder: string
  packages: Record<string, string>
  /** Said before they are installed. */
  notice: string
}

/** The folder that holds them. */
export async function npmPackages({ cache = CACHE, folder: name, packages, notice }: WantedPackages): Promise<string> {
  const folder = join(cache, name)
  if (existsSync(folder)) return folder
  const names = versionsOf(packages).join(', ')
  if (process.env['GATEWAY_NO_INSTALL'])
    throw new Error(`${names} are missing and GATEWAY_NO_INSTALL forbids to install them`)
  process.stderr.write(`${notice} ${names} from npm\n`)
  const making = `${folder}.new`
  await rm(making, { recursive: true, force: true })
  await mkdir(making, { recursive: true })
  await writeFile(
    join(making, 'package.json'),
    JSON.stringify({ private: true, type: 'module', dependencies: packages }),
  )
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: making })
  await rename(making, folder)
  return folder
}

export function versionsOf(packages: Record<string, string>): string[] {
  return Object.entries(packages).map(([name, version]) => `${name} ${version}`)
}
