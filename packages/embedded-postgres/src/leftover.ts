/**
 * Stops a PostgreSQL server that outlived its starter, so that a new one can have its data folder.
 *
 * Only processes that really are PostgreSQL on that very folder are touched; a pid file alone proves nothing. It goes when none
 * of them is left. Its pid may be another process' by now, or that of a killed server which the system has yet to collect.
 * PostgreSQL would take either for a running server and refuse to start.
 */

import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { postgresProcessesOn, signal } from './processes.ts'

/** The signals that stop a server, harder each time, and the time that it has. The second leaves recovery to the next start. */
const STOPS = [
  { name: 'SIGINT', withinMs: 10_000 },
  { name: 'SIGQUIT', withinMs: 5_000 },
] as const
type Log = (line: string) => void

const KILLED_WITHIN_MS = 30_000
const POLL_MS = 10

/** `dataDirectory` is a real path. The caller owns the folder: nobody starts a server on it meanwhile. */
export async function stopLeftover(dataDirectory: string, log: Log, say: Log): Promise<void> {
  const pidFile = join(dataDirectory, 'postmaster.pid')
  const recorded = await readFile(pidFile, 'utf8').then(Number.parseInt, () => undefined)
  const left = (): Promise<number[]> => postgresProcessesOn(dataDirectory, recorded)
  if (!(await areStopped(left, recorded, log, say))) {
    for (const pid of await left()) signal(pid, 'SIGKILL')
    if (!(await untilNone(left, KILLED_WITHIN_MS)))
      throw new Error(`cannot end the PostgreSQL processes ${(await left()).join(', ')} on ${dataDirectory}`)
  }
  await rm(pidFile, { force: true })
}

/** Without their server, its other processes end by themselves. */
async function areStopped(
  left: () => Promise<number[]>,
  server: number | undefined,
  log: Log,
  say: Log,
): Promise<boolean> {
  for (const { name, withinMs } of STOPS) {
    const processes = await left()
    if (processes.length === 0) return true
    if (server !== undefined && processes.includes(server)) {
      const print = name === 'SIGINT' ? log : say
      print(`stopping the PostgreSQL that an earlier run left behind (process ${server}, ${name})`)
      signal(server, name)
    }
    if (await untilNone(left, withinMs)) return true
  }
  return false
}

async function untilNone(left: () => Promise<number[]>, withinMs: number): Promise<boolean> {
  const deadlineMs = Date.now() + withinMs
  while (Date.now() < deadlineMs) {
    if ((await left()).length === 0) return true
    await delay(POLL_MS)
  }
  return false
}
