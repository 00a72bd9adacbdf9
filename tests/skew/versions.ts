/**
 * The gateway's services in the last release, and those of this checkout with a change. Each lies in a folder of its own,
 * whose imports lead to itself alone.
 */

import { globSync } from 'node:fs'
import { mkdir, readFile, realpath, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Versions } from '../../dev/chaos/stage/versions.ts'
import { type ArchivedFile, writeFiles } from '../../scripts/release/archived-files.ts'
import { writeLastRelease } from '../../scripts/release/last-release.ts'
import { servicesPackage } from '../../scripts/release/services-package.ts'

export type Version = Versions['former']

export const ROOT = join(import.meta.dirname, '../..')

export const PRESENT: Version = { folder: ROOT, isCompiled: false }

export async function unpackLastRelease(folder: string): Promise<Version> {
  await writeLastRelease(ROOT, folder)
  await linkDependencies(folder)
  return { folder, isCompiled: true }
}

/** This checkout, with its files changed. */
export async function writeChanged(
  folder: string,
  change: (files: ArchivedFile[]) => ArchivedFile[],
): Promise<Version> {
  await writeFiles(folder, change(servicesPackage(ROOT)))
  await linkDependencies(folder)
  return { folder, isCompiled: true }
}

/** Libraries are those that some part of the workspace has: the test calls no registry. */
async function linkDependencies(folder: string): Promise<void> {
  const { dependencies } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  for (const name of Object.keys(dependencies)) {
    const [found] = globSync(`{.,packages/*,services/*}/node_modules/${name}`, { cwd: ROOT })
    if (!found) throw new Error(`the last release needs ${name}, which nothing here depends on any more: install it`)
    const at = join(folder, 'node_modules', name)
    await mkdir(dirname(at), { recursive: true })
    await symlink(await realpath(join(ROOT, found)), at)
  }
}
