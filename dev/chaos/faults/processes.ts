/**
 * Faults of processes and servers by signals, and of their clocks.
 */

import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ClockedServer, type Failpoint, type ProcessName, PROCESSES, type Victim } from '../plan/places.ts'
import { NOTICED_WITHIN_MS } from '../stage/clocks.ts'
import type { Stage } from '../stage/open-stage.ts'

const LOOK_EVERY_MS = 20
/** The cluster starts a killed process again after two seconds. */
const BACK_WITHIN_MS = 60_000
/** One that stops in good order finishes its responses first. A stream of the lane `hostile` took 105 s while south was away. */
const DRAINED_WITHIN_MS = 240_000
/** Changes of keys are the rarest. */
const COMES_BY_WITHIN_MS = 20_000

/** Resolves when there is another process in its place. */
export async function killed(stage: Stage, victim: Victim, signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
  const pid = stage.pidOf(victim)
  if (pid === undefined) throw new Error(`${victim} is not there to inject a fault`)
  process.kill(pid, signal)
  await replaced(stage, victim, pid, signal === 'SIGKILL' ? BACK_WITHIN_MS : DRAINED_WITHIN_MS)
}

export async function replaced(stage: Stage, victim: Victim, pid: number, withinMs = BACK_WITHIN_MS): Promise<void> {
  const deadlineMs = Date.now() + withinMs
  while (stage.pidOf(victim) === pid || stage.pidOf(victim) === undefined) {
    if (Date.now() > deadlineMs) throw new Error(`${victim} was not started again`)
    await sleep(LOOK_EVERY_MS)
  }
}

/** Resolves when it is gone: there is a moment before it is started again. */
export async function killedAndGone(stage: Stage, victim: Victim): Promise<void> {
  const pid = stage.pidOf(victim)!
  process.kill(pid, 'SIGKILL')
  while (stage.pidOf(victim) === pid) await sleep(LOOK_EVERY_MS)
}

export async function frozen(stage: Stage, victim: Victim, forMs: number): Promise<void> {
  const pid = stage.pidOf(victim)!
  process.kill(pid, 'SIGSTOP')
  await sleep(forMs)
  process.kill(pid, 'SIGCONT')
}

/** Returns the process that died there, once there is another in its place; null when nobody came by in time. */
export async function deadAt(stage: Stage, point: Failpoint): Promise<ProcessName | null> {
  const path = join(stage.failpoints, point)
  const pids = new Map(PROCESSES.map((name) => [name, stage.pidOf(name)]))
  await writeFile(path, '')
  const deadlineMs = Date.now() + COMES_BY_WITHIN_MS
  while (Date.now() < deadlineMs) {
    const victim = PROCESSES.find((name) => stage.pidOf(name) !== pids.get(name))
    if (victim) {
      await replaced(stage, victim, pids.get(victim)!)
      return victim
    }
    await sleep(LOOK_EVERY_MS)
  }
  await rm(path, { force: true })
  return null
}

export async function clockWrong(
  stage: Stage,
  victim: ProcessName | ClockedServer,
  byMs: number,
  forMs: number,
): Promise<void> {
  if (victim === 'redis' || victim === 'postgres') {
    const server = stage.network!.servers![victim]
    await server.setClock(byMs)
    await sleep(forMs)
    return server.setClock(0)
  }
  await stage.clocks.set(victim, byMs)
  await sleep(forMs)
  await stage.clocks.right(victim)
  await sleep(NOTICED_WITHIN_MS)
}
