/**
 * The project as it was at another commit: a Git worktree of its own, with that commit's packages installed.
 */

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageError } from '@gateway/service/report-fatal'
import { BENCH_DATA, ROOT } from './folders.ts'

/** The worktree's folder. It stays for the next run; `git worktree remove` takes it away. */
export async function commitTree(commit: string): Promise<string> {
  const id = idOf(commit)
  const parent = join(BENCH_DATA, 'commits')
  const folder = join(parent, id.slice(0, 12))
  if (!existsSync(folder)) {
    await mkdir(parent, { recursive: true })
    // A folder that somebody deleted is still in Git's list.
    git(ROOT, 'worktree', 'prune')
    git(ROOT, 'worktree', 'add', '--detach', folder, id)
  }
  // Prints the installation on stderr, as in any folder of the project.
  execFileSync('node', ['scripts/ensure-installed.mjs'], { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
  return folder
}

function idOf(commit: string): string {
  try {
    return git(ROOT, 'rev-parse', '--verify', '--quiet', '--end-of-options', `${commit}^{commit}`)
  } catch {
    throw new UsageError(`--against: there is no commit ${commit} in this repository`)
  }
}

function git(cwd: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim()
}
