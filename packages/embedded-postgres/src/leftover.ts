/**
 * Stops a PostgreSQL server that outlived whoever started it, so that a new one can have its data folder.
 *
 * Only processes that really are PostgreSQL on that very folder are touched; a pid file alone proves nothing.
 */

import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { postgresProcessesOn, signal, startTimeOf } from './processes.ts'

const FAST_STOP_MS = 10_000
const POLL_MS = 10

/** `dataDirectory` is a real path. The caller owns the folder: nobody starts a server on it meanwhile. */
export async function stopLeftover(dataDirectory: string, log: (line: string) => void): Promise<void> {
  const pidFile = join(dataDirectory, 'postmaster.pid')
  const recorded = await readFile(pidFile, 'utf8').then(Number.parseInt, () => undefined)
  const left = (): Promise<number[]> => postgresProcessesOn(dataDirectory, recorded)
  const processes = await left()
  if (processes.length === 0) {
    // The pid is another process' by now; PostgreSQL would take that for a running server and refuse to start.
    if (recorded !== undefined && (await startTimeOf(recorded)) !== null) await rm(pidFile, { force: true })
    return
  }
  // Without their server, its other processes end by themselves.
  if (recorded !== undefined && processes.includes(recorded)) {
    log(`stopping the PostgreSQL that an earlier run left behind (process ${recorded})`)
    signal(recorded, 'SIGINT')
  }
  if (await untilNone(left)) return
  for (const pid of await left()) signal(pid, 'SIGKILL')
  if (!(await untilNone(left)))
    throw new Error(`cannot end the PostgreSQL processes ${(await left()).join(', ')} on ${dataDirectory}`)
}

async function untilNone(left: () => Promise<number[]>): Promise<boolean> {
  const deadlineMs = Date.now() + FAST_STOP_MS
  while (Date.now() < deadlineMs) {
    if ((await left()).length === 0) return true
    await delay(POLL_MS)
  }
  return false
}
