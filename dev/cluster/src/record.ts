/**
 * `cluster.json` names each process and its ports. Every change rewrites the file, and the next start ends the
 * processes that a killed cluster left in it.
 *
 * Each pid has its process's start time beside it, so that a later start can distinguish it from another process with
 * the same pid.
 */

import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { signal, startTimeOf } from '@gateway/embedded-postgres/processes'

interface Entry {
  name: string
  pid: number | null
  startTime?: string | null
}

interface Record {
  processes: Entry[]
  fixtures: Entry[]
  servers: { [name: string]: Omit<Entry, 'name'> }
}

const SERVER_STOP_MS = 10_000
const POLL_MS = 20

/** Writes the result of `describeNow`, one writing after the other: a reader sees the former state or this one, no part. */
export function recordCluster(path: string, describeNow: () => Record, log: (line: string) => void) {
  let writing = Promise.resolve()
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    writing = writing.then(work).catch((error: unknown) => log(`${path} could not be written: ${String(error)}`))
    return writing
  }
  return {
    record: () =>
      inTurn(async () => {
        const text = JSON.stringify(await withStartTimes(describeNow()), null, 2)
        await writeFile(`${path}.new`, `${text}\n`, { mode: 0o600 })
        await rename(`${path}.new`, path)
      }),
    remove: () => inTurn(() => rm(path, { force: true })),
  }
}

async function withStartTimes(record: Record): Promise<Record> {
  const timed = async <T extends { pid: number | null }>(entry: T) => {
    return { ...entry, startTime: entry.pid === null ? null : await startTimeOf(entry.pid) }
  }
  const [processes, fixtures, servers] = await Promise.all([
    Promise.all(record.processes.map(timed)),
    Promise.all(record.fixtures.map(timed)),
    Promise.all(Object.entries(record.servers).map(async ([name, server]) => [name, await timed(server)] as const)),
  ])
  return { processes, fixtures, servers: Object.fromEntries(servers) }
}

/** Ends the processes that a killed cluster left behind according to its record. The caller owns the data folder. */
export async function endLeftovers(path: string, log: (line: string) => void): Promise<void> {
  const record = await readRecord(path)
  if (!record) return
  // Services survive any death by design, so the quick one will do. Servers get time to write their data.
  for (const entry of [...record.processes, ...record.fixtures]) await end(entry, 'SIGKILL', log)
  for (const [name, server] of Object.entries(record.servers)) {
    await end({ name, ...server }, name === 'postgres' ? 'SIGINT' : 'SIGTERM', log)
  }
  await rm(path, { force: true })
}

async function readRecord(path: string): Promise<Record | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as Record)
}

async function end(
  { name, pid, startTime }: Entry,
  gently: NodeJS.Signals,
  log: (line: string) => void,
): Promise<void> {
  const lives = async () => pid !== null && startTime != null && (await startTimeOf(pid)) === startTime
  if (pid === null || !(await lives())) return
  log(`ending ${name}, which an earlier cluster left behind (process ${pid})`)
  signal(pid, gently)
  const deadlineAtMs = Date.now() + SERVER_STOP_MS
  while (await lives()) {
    if (Date.now() > deadlineAtMs) signal(pid, 'SIGKILL')
    await delay(POLL_MS)
  }
}
