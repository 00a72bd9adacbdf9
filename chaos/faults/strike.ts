/**
 * Strikes the planned faults one after another, each when its request has been sent and the one before it has healed.
 *
 * Healed means: every process says that it is ready, every server serves, and a request through each edge is answered.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Clients } from '../clients/client.ts'
import type { Load } from '../load.ts'
import { describeFault, type PlannedFault, type Victim } from '../plan/faults.ts'
import type { Stage } from '../stage/open-stage.ts'

export interface StruckFault {
  fault: PlannedFault
  struckAtMs: number
  /** Null: not within {@link HEALS_WITHIN_MS}. */
  healedAtMs: number | null
}

const HEALS_WITHIN_MS = 60_000
const LOOK_EVERY_MS = 100

export async function strikeAll(
  stage: Stage,
  clients: Clients,
  load: Load,
  faults: readonly PlannedFault[],
  say: (line: string) => void,
): Promise<StruckFault[]> {
  const all: StruckFault[] = []
  for (const [index, fault] of faults.entries()) {
    load.allow(fault.afterRequests)
    await load.reached(fault.afterRequests)
    const struckAtMs = Date.now()
    load.allow(faults[index + 1]?.afterRequests ?? Infinity)
    await strike(stage, fault)
    const healedAtMs = await healed(stage, clients, Date.now() + HEALS_WITHIN_MS)
    all.push({ fault, struckAtMs, healedAtMs })
    const took =
      healedAtMs === null ? 'DID NOT HEAL' : `healed after ${((healedAtMs - struckAtMs) / 1_000).toFixed(1)} s`
    say(`${fault.number}/${faults.length} at request ${load.sent}: ${describeFault(fault)}: ${took}`)
  }
  load.allow(Infinity)
  return all
}

async function strike(stage: Stage, fault: PlannedFault): Promise<void> {
  switch (fault.kind) {
    case 'kill':
      return kill(stage, fault.victim)
    case 'freeze':
      return freeze(stage, fault.victim, fault.forMs)
  }
}

async function freeze(stage: Stage, victim: Victim, forMs: number): Promise<void> {
  const pid = stage.pidOf(victim)!
  process.kill(pid, 'SIGSTOP')
  await sleep(forMs)
  process.kill(pid, 'SIGCONT')
}

async function kill(stage: Stage, victim: Victim): Promise<void> {
  const pid = stage.pidOf(victim)!
  process.kill(pid, 'SIGKILL')
  while (stage.pidOf(victim) === pid) await sleep(LOOK_EVERY_MS)
  while (stage.pidOf(victim) === undefined) await sleep(LOOK_EVERY_MS)
}

async function healed(stage: Stage, clients: Clients, deadlineMs: number): Promise<number | null> {
  while (Date.now() < deadlineMs) {
    if ((await allReady(stage)) && (await clients.probe(0)) && (await clients.probe(1))) return Date.now()
    await sleep(LOOK_EVERY_MS)
  }
  return null
}

async function allReady({ cluster }: Stage): Promise<boolean> {
  const servers = Object.values(cluster.servers)
  if (servers.some(({ pid }) => pid === undefined)) return false
  const ready = await Promise.all(
    cluster.processes.map(async ({ pid, plan }) => {
      if (pid === undefined) return false
      const answer = await fetch(`${plan.healthUrl}${plan.readyPath}`, { signal: AbortSignal.timeout(1_000) }).catch(
        () => null,
      )
      return answer?.ok ?? false
    }),
  )
  return ready.every(Boolean)
}
