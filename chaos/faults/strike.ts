/**
 * Strikes the planned faults one after another, each when its request has been sent and the one before it has healed.
 *
 * Healed means: every process says that it is ready, every server serves, and a request through each edge is answered.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Clients } from '../clients/client.ts'
import type { Struck } from '../judge/facts.ts'
import type { Load } from '../load.ts'
import { describeFault } from '../plan/describe-fault.ts'
import type { FaultAction, PlannedFault } from '../plan/faults.ts'
import type { EdgeName, LinkName } from '../plan/places.ts'
import type { Link } from '../stage/link.ts'
import type { Stage } from '../stage/open-stage.ts'
import { diskFull, wiped } from './broker.ts'
import { killedInCommit } from './postgres.ts'
import { clockWrong, deadAt, frozen, killed, killedAndGone } from './processes.ts'
import { emptied, flushed, olderThanItWas } from './redis.ts'
import { repeated } from './usage-reports.ts'

const HEALS_WITHIN_MS = 60_000
const LOOK_EVERY_MS = 100

/** What a fault may have to say for itself. */
export interface Consequence {
  /** Requests whose only report was destroyed. */
  destroyed?: string[]
  victim?: string | null
  note?: string
}

export async function strikeAll(
  stage: Stage,
  clients: Clients,
  load: Load,
  faults: readonly PlannedFault[],
  say: (line: string) => void,
): Promise<Struck[]> {
  const all: Struck[] = []
  for (const [index, fault] of faults.entries()) {
    load.allow(fault.afterRequests)
    await load.reached(fault.afterRequests)
    const struckAtMs = Date.now()
    load.allow(faults[index + 1]?.afterRequests ?? Infinity)
    const { destroyed = [], victim = null, note = '' } = await strike(stage, fault)
    const healedAtMs = await healed(stage, clients, Date.now() + HEALS_WITHIN_MS)
    all.push({ fault, struckAtMs, healedAtMs, destroyed, victim, note })
    const took =
      healedAtMs === null ? 'DID NOT HEAL' : `healed after ${((healedAtMs - struckAtMs) / 1_000).toFixed(1)} s`
    const what = describeFault(fault) + (note && ` (${note})`)
    say(`${fault.number}/${faults.length} at request ${load.sent}: ${what}: ${took}`)
  }
  load.allow(Infinity)
  return all
}

async function strike(stage: Stage, fault: PlannedFault): Promise<Consequence> {
  switch (fault.kind) {
    case 'stream-wiped': {
      const destroyed = await wiped(stage, fault.number)
      return { destroyed, note: `${destroyed.length} reports were not known to be consumed` }
    }
    case 'failpoint': {
      const victim = await deadAt(stage, fault.point)
      return { victim, note: victim ?? 'nobody came by' }
    }
    case 'repeat':
      return { note: `${await repeated(stage, `repeat ${fault.number}`, fault.forMs)} reports` }
    case 'disk-full':
      if (!stage.disk) return { note: 'left out: it takes root on Linux' }
      await diskFull(stage, fault.forMs)
      return {}
    default:
      await strikeOne(stage, fault)
      return {}
  }
}

function strikeOne(
  stage: Stage,
  fault: Exclude<FaultAction, { kind: 'stream-wiped' | 'repeat' | 'disk-full' | 'failpoint' }>,
): Promise<void> {
  switch (fault.kind) {
    case 'kill':
      return killed(stage, fault.victim)
    case 'freeze':
      return frozen(stage, fault.victim, fault.forMs)
    case 'restart':
      return killed(stage, fault.victim, 'SIGTERM')
    case 'clock':
      return clockWrong(stage, fault.victim, fault.byMs, fault.forMs)
    case 'cut':
      return onLink(stage, fault.link, fault.forMs, (link) => link.cut())
    case 'mute':
      return onLink(stage, fault.link, fault.forMs, (link) => link.mute())
    case 'slow':
      return onLink(stage, fault.link, fault.forMs, (link) => link.slow(fault.delayMs))
    case 'lose-host':
      return lostWithItsHost(stage, fault.victim, fault.delayMs)
    case 'refuse':
      return refused(stage, fault.backend, fault.forMs)
    case 'redis-flushed':
      return flushed(stage)
    case 'redis-emptied':
      return emptied(stage)
    case 'redis-old':
      return olderThanItWas(stage, fault.ageMs)
    case 'commit-killed':
      return killedInCommit(stage)
  }
}

async function onLink(stage: Stage, name: LinkName, forMs: number, act: (link: Link) => void): Promise<void> {
  const link = stage.links.of(name)
  act(link)
  await sleep(forMs)
  link.heal()
}

/** Long enough that reports are under way at any moment. */
const SLOW_BEFORE_MS = 1_000

async function lostWithItsHost(stage: Stage, victim: EdgeName, delayMs: number): Promise<void> {
  const link = stage.links.of(`${victim}:nats`)
  link.slow(delayMs)
  await sleep(SLOW_BEFORE_MS)
  link.cut()
  await killedAndGone(stage, victim)
  link.heal()
}

async function refused({ backends }: Stage, name: keyof Stage['backends'], forMs: number): Promise<void> {
  await backends[name].refuse()
  await sleep(forMs)
  await backends[name].heal()
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
