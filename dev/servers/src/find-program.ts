/**
 * Finds server programs on this machine.
 */

import { accessSync, constants, globSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

/** Where packages put servers that a user's PATH may lack. */
const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/usr/bin', '/opt/homebrew/bin']

export function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...SYSTEM_FOLDERS]
  return folders.map((folder) => join(folder || '.', name)).find(isExecutable)
}

/** The folder with `initdb` and `postgres`, the newest version first. */
export function findPostgres(): string | undefined {
  const versioned = globSync([
    '/usr/lib/postgresql/*/bin/postgres',
    '/usr/pgsql-*/bin/postgres',
    '/opt/homebrew/opt/postgresql@*/bin/postgres',
  ])
  const newestFirst = versioned.sort((a, b) => majorOf(b) - majorOf(a))
  const onPath = findProgram('postgres')
  return [...newestFirst, ...(onPath ? [onPath] : [])]
    .map(dirname)
    .find((folder) => isExecutable(join(folder, 'initdb')))
}

function majorOf(path: string): number {
  return Number(/(\d+)/.exec(path)?.[1] ?? 0)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
