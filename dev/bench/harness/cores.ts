/**
 * Gives the load generator a core of its own. On the gateway's cores it would take from the gateway the time that it
 * loads it for.
 */

import { execFile } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { UsageError } from '@gateway/service/report-fatal'

export interface Cores {
  gateway: string
  load: string
}

/** The last core is for the load generator, the backend and the bench; the gateway has the others. */
export function shareCores(count = availableParallelism()): Cores {
  if (count < 2) throw new UsageError('this part needs two cores: one for the gateway, one for the load')
  return { gateway: count === 2 ? '0' : `0-${count - 2}`, load: String(count - 1) }
}

/** With all of the process's threads; its later children stay on these cores, too. */
export async function confine(pid: number, cores: string): Promise<void> {
  await promisify(execFile)('taskset', ['--all-tasks', '--cpu-list', '--pid', cores, String(pid)])
}
