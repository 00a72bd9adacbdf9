/** Reads the history. */

import { execFile, execFileSync } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export function git(root: string, ...args: string[]): string {
  return execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim()
}

/** Writes files of a commit below the folder, all with the time of the commit. Without paths: every file. */
export async function unpackCommit(
  root: string,
  commit: string,
  folder: string,
  paths: readonly string[] = [],
): Promise<void> {
  await mkdir(folder, { recursive: true })
  const archive = join(folder, 'commit.tar')
  await run('git', ['-C', root, 'archive', '--output', archive, commit, ...paths])
  await run('tar', ['-xf', archive, '-C', folder])
  await rm(archive)
}
