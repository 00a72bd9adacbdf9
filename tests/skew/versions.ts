/**
 * The gateway's services in the last release, as the repository keeps them, and those of this checkout with a change. Each
 * lies in a folder of its own, whose imports lead to itself alone.
 */

import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Versions } from '../../chaos/stage/versions.ts'
import { servicesPackage } from '../../scripts/release/services-package.ts'
import type { ArchivedFile } from '../../scripts/release/write-tar.ts'

export type Version = Versions['former']

export const ROOT = join(import.meta.dirname, '../..')

export const PRESENT: Version = { folder: ROOT, isCompiled: false }

export async function unpackLastRelease(folder: string): Promise<Version> {
  const [archive, ...others] = globSync('releases/model-gateway-services-*.tgz', { cwd: ROOT })
  if (!archive || others.length > 0) throw new Error('releases/ must hold one archive, that of the last release')
  await mkdir(folder, { recursive: true })
  await promisify(execFile)('tar', ['-xzf', join(ROOT, archive), '--strip-components', '1', '-C', folder])
  await linkDependencies(folder)
  return { folder, isCompiled: true }
}

/** This checkout, with its files changed. */
export async function writeChanged(
  folder: string,
  change: (files: ArchivedFile[]) => ArchivedFile[],
): Promise<Version> {
  for (const { path, content } of change(servicesPackage(ROOT))) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
  await linkDependencies(folder)
  return { folder, isCompiled: true }
}

/** Libraries are those that some part of the workspace has: no registry is asked. */
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
