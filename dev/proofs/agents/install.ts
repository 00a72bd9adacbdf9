/** Installs agents where they outlive a worktree: outside the repository, in the user's folder of caches. */

import { homedir } from 'node:os'
import { join } from 'node:path'
import { npmPackages } from '../../../scripts/npm-packages.ts'
import { pythonWith } from '../../../scripts/python.ts'

const CACHE = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'model-gateway/agents')

/** The folder of the packages. */
export async function installed(folder: string, packages: Record<string, string>): Promise<string> {
  return join(await npmPackages({ cache: CACHE, folder, packages, notice: 'installing' }), 'node_modules')
}

/** The folder of the programs. */
export function installedPython(folder: string, packages: string[]): Promise<string> {
  return pythonWith({ cache: CACHE, folder, packages, notice: `installing ${packages.join(', ')} from PyPI` })
}
