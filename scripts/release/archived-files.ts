/** The files of an archive, in memory. */

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export interface ArchivedFile {
  /** Below the archive's top folder, with forward slashes. */
  path: string
  content: Buffer
  isExecutable?: boolean
}

/** The files below a folder, links followed. `at`: the folder's own path in the archive. */
export function filesBelow(folder: string, at = ''): ArchivedFile[] {
  return readdirSync(folder).flatMap((name) => {
    const path = at === '' ? name : `${at}/${name}`
    const source = join(folder, name)
    return statSync(source).isDirectory() ? filesBelow(source, path) : [{ path, content: readFileSync(source) }]
  })
}

export async function writeFiles(folder: string, files: readonly ArchivedFile[]): Promise<void> {
  for (const { path, content, isExecutable = false } of files) {
    const target = join(folder, path)
    await mkdir(dirname(target), { recursive: true })
    await writeFile(target, content)
    // The user's umask has no part in it.
    await chmod(target, isExecutable ? 0o755 : 0o644)
  }
}
