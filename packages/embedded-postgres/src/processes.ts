/**
 * Other processes, as the system knows them: whether a pid still is the process that it was, and who works in a folder.
 */

import { execFile } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const onLinux = process.platform === 'linux'

/**
 * When the process `pid` was started, in the system's own words; null when there is none (or its parent has yet to
 * collect it). A pid is used again, a pid together with this is not.
 */
export async function startTimeOf(pid: number): Promise<string | null> {
  try {
    if (!onLinux) {
      const { stdout } = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)])
      const [state = 'Z', ...time] = stdout.trim().split(/\s+/)
      return state.startsWith('Z') ? null : time.join(' ')
    }
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1')
    // The command, in brackets, may itself hold brackets and blanks.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? null : (fields[19] ?? null)
  } catch {
    return null
  }
}

/** Sends the signal, unless the process ended by itself meanwhile. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** The PostgreSQL processes of the data folder (its real path): they all work in it. `postmasterPid` is from its pid file. */
export async function postgresProcessesOn(dataDirectory: string, postmasterPid: number | undefined): Promise<number[]> {
  if (!onLinux)
    return postmasterPid !== undefined && (await isPostgresByCommand(postmasterPid, dataDirectory))
      ? [postmasterPid]
      : []
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0)
  const members = await Promise.all(pids.map((pid) => isPostgresByFolder(pid, dataDirectory)))
  return pids.filter((_, index) => members[index])
}

async function isPostgresByFolder(pid: number, dataDirectory: string): Promise<boolean> {
  try {
    if ((await readlink(`/proc/${pid}/cwd`)) !== dataDirectory) return false
    const program = (await readlink(`/proc/${pid}/exe`)).replace(/ \(deleted\)$/, '')
    return basename(program) === 'postgres' && (await startTimeOf(pid)) !== null
  } catch {
    return false
  }
}

async function isPostgresByCommand(pid: number, dataDirectory: string): Promise<boolean> {
  const command = await run('ps', ['-o', 'command=', '-p', String(pid)]).then(
    ({ stdout }) => stdout,
    () => '',
  )
  return command.includes('postgres') && command.includes(dataDirectory)
}
