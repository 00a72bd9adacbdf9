/**
 * Injects the planned faults one after another, each when its request has been sent and the one before it has healed.
 *
 * Healed means: every process reports that it is ready, every server serves, and a request through each edge gets its
 * response.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Clients } from '../clients/client.ts'
import type { Injected } from '../checkers/facts.ts'
import type { Load } from '../load.ts'
import { describeFault, touchesRedis } from '../plan/describe-fault.ts'
import type { FaultAction, PlannedFault } from '../plan/faults.ts'
import { type EdgeName, EDGES, type Failpoint, type LinkName } from '../plan/places.ts'
import type { Losing } from '../network/network-links.ts'
import type { Link } from '../stage/link.ts'
import type { Stage } from '../stage/open-stage.ts'
import { diskFull, wiped } from './broker.ts'
import type { Outcome } from './consequence.ts'
import { failedOver, isolated, late, split, unheard } from './fail-over.ts'
import { flooded } from './flood.ts'
import { streamedWithoutEnd, poisoned, refusedBodies } from './hostile-client.ts'
import { killedInCommit } from './postgres.ts'
import { clockWrong, deadAt, frozen, killed, killedAndGone, replaced } from './processes.ts'
import { emptied, flushed, olderThanItWas } from './redis.ts'
import { slowDisk } from './slow-disk.ts'
import { repeated } from './usage-reports.ts'

const HEALS_WITHIN_MS = 60_000
const LOOK_EVERY_MS = 100

export async function injectAll(
  stage: Stage,
  clients: Clients,
  load: Load,
  faults: readonly PlannedFault[],
  say: (line: string) => void,
): Promise<Injected[]> {
  const all: Injected[] = []
  for (const [index, fault] of faults.entries()) {
    load.allow(fault.afterRequests)
    await load.reached(fault.afterRequests)
    const injectedAtMs = Date.now()
    load.allow(faults[index + 1]?.afterRequests ?? Infinity)
    const { destroyed = [], victim = null, note = '', ...proof } = await injection(stage, clients, fault)
    const healedAtMs = await healed(stage, clients, fault)
    all.push({ fault, injectedAtMs, healedAtMs, destroyed, victim, ...proof, note })
    const took =
      healedAtMs === null ? 'DID NOT HEAL' : `healed after ${((healedAtMs - injectedAtMs) / 1_000).toFixed(1)} s`
    const what = describeFault(fault) + (note && ` (${note})`)
    say(`${fault.number}/${faults.length} at request ${load.sent}: ${what}: ${took}`)
  }
  load.allow(Infinity)
  return all
}

async function injection(stage: Stage, clients: Clients, fault: PlannedFault): Promise<Outcome> {
  switch (fault.kind) {
    case 'stream-wiped': {
      const destroyed = await wiped(stage, fault.number)
      return { destroyed, note: `${destroyed.length} reports were not known to be consumed` }
    }
    case 'failpoint': {
      const [victim] = await Promise.all([deadAt(stage, fault.point), comeBy(clients, fault.point)])
      return { victim, note: victim ?? 'nobody came by' }
    }
    case 'lose-machine':
      await lostWithItsMachine(stage, clients, fault.victim, fault.forMs)
      return {}
    case 'repeat':
      return { note: `${await repeated(stage, `repeat ${fault.number}`, fault.forMs)} reports` }
    case 'flood':
      return { note: await flooded(stage, fault.edge, fault.forMs) }
    case 'poison':
      return poisoned(stage, fault)
    case 'refused-bodies':
      return refusedBodies(stage, clients, fault)
    case 'endless':
      return streamedWithoutEnd(stage, fault)
    case 'kill-claimed':
      return { note: `${await killedUnderClaims(stage, clients, fault.victim)} requests ran` }
    case 'split': {
      const { servedMs, scripts } = await split(stage, clients, fault)
      return { servedMs, note: `the former primary ${tookWrites(servedMs)}, and ran ${scripts} scripts` }
    }
    case 'unheard': {
      const { servedMs, scripts } = await unheard(stage.network!, fault.forMs)
      const note = `the former primary ${tookWrites(servedMs)}, and ran ${scripts} scripts after its successor was there`
      return { servedMs, strayed: scripts, note }
    }
    case 'slow-disk':
      return { note: await slowDisk(stage.network!, fault.server, fault.writesPerSecond, fault.forMs) }
    case 'disk-full':
      if (!stage.disk) return { note: 'left out: it takes root on Linux' }
      await diskFull(stage, fault.forMs)
      return {}
    default:
      await injectOne(stage, fault)
      return {}
  }
}

async function injectOne(
  stage: Stage,
  fault: Exclude<
    FaultAction,
    {
      kind:
        | 'stream-wiped'
        | 'repeat'
        | 'disk-full'
        | 'failpoint'
        | 'lose-machine'
        | 'flood'
        | 'poison'
        | 'refused-bodies'
        | 'endless'
        | 'kill-claimed'
        | 'split'
        | 'unheard'
        | 'slow-disk'
    }
  >,
): Promise<void> {
  switch (fault.kind) {
    case 'kill':
      return killed(stage, fault.victim)
    case 'kill-two':
      return void (await Promise.all(fault.victims.map((victim) => killed(stage, victim))))
    case 'freeze':
      return frozen(stage, fault.victim, fault.forMs)
    case 'restart':
      return killed(stage, fault.victim, 'SIGTERM')
    case 'clock':
      return clockWrong(stage, fault.victim, fault.byMs, fault.forMs)
    case 'cut':
      return onLink(stage, fault.link, fault.forMs, (link) => link.cut())
    case 'mute':
      if (stage.network) return whileLost(fault.forMs, stage.network.lose(fault.link))
      return onLink(stage, fault.link, fault.forMs, (link) => link.mute())
    case 'slow':
      if (stage.network) return whileLost(fault.forMs, stage.network.slow(fault.link, fault.delayMs))
      return onLink(stage, fault.link, fault.forMs, (link) => link.slow(fault.delayMs))
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
    case 'one-way':
      return whileLost(fault.forMs, stage.network!.lose(fault.link, { way: fault.way }))
    case 'lossy':
      return whileLost(fault.forMs, stage.network!.lose(fault.link, { share: fault.share }))
    case 'isolate':
      return isolated(stage.network!, fault.victim, fault.forMs)
    case 'fail-over':
      return failedOver(stage.network!, fault)
    case 'late':
      return late(stage.network!, fault.delayMs, fault.forMs)
    case 'switch':
      return void (await Promise.all(fault.processes.map((process) => stage.switchVersion(process, fault.to))))
  }
}

const tookWrites = (servedMs: number) => `took writes for ${(servedMs / 1_000).toFixed(1)} s`

async function onLink(stage: Stage, name: LinkName, forMs: number, act: (link: Link) => void): Promise<void> {
  const link = stage.links.of(name)
  act(link)
  await sleep(forMs)
  link.heal()
}

async function whileLost(forMs: number, losing: Promise<Losing>): Promise<void> {
  const end = await losing
  await sleep(forMs)
  await end()
}

/** The running responses come to their end meanwhile: not their clients, unless their cost is lost. */
async function lostWithItsMachine(stage: Stage, clients: Clients, victim: EdgeName, forMs: number): Promise<void> {
  const link = stage.links.of(`${victim}:nats`)
  const pid = stage.pidOf(victim)!
  const streams = await clients.beginStreams(EDGES.indexOf(victim) as 0 | 1)
  link.muteOutward()
  await sleep(forMs)
  await killedAndGone(stage, victim)
  link.cut()
  link.heal()
  await Promise.all([streams.over, replaced(stage, victim, pid)])
}

/** Their clients call the other edge, and then in turn. */
async function killedUnderClaims(stage: Stage, clients: Clients, victim: EdgeName): Promise<number> {
  const pid = stage.pidOf(victim)!
  const claimed = await clients.beginRepeating(EDGES.indexOf(victim) as 0 | 1)
  await killedAndGone(stage, victim)
  await Promise.all([claimed.over, replaced(stage, victim, pid)])
  return claimed.count
}

async function refused({ backends }: Stage, name: keyof Stage['backends'], forMs: number): Promise<void> {
  await backends[name].refuse()
  await sleep(forMs)
  await backends[name].heal()
}

/** Requests pass by on their own; changes of keys are rare. */
async function comeBy(clients: Clients, point: Failpoint): Promise<void> {
  if (point === 'keys.audit-written' || point === 'keys.administration-committed') await clients.archiveSomething()
  else if (point.startsWith('keys.')) await clients.rotateSomebody()
  else if (point === 'edge.response-kept' || point === 'edge.response-metered') await clients.repeatSomething()
  else await Promise.all([clients.probe(0), clients.probe(1)])
}

async function healed(stage: Stage, clients: Clients, fault: PlannedFault): Promise<number | null> {
  const deadlineMs = Date.now() + HEALS_WITHIN_MS
  while (Date.now() < deadlineMs) {
    if ((await allReady(stage)) && (await clients.probe(0)) && (await clients.probe(1))) {
      if (touchesRedis(fault)) await storeInUse(stage, clients, deadlineMs)
      return Date.now()
    }
    await sleep(LOOK_EVERY_MS)
  }
  return null
}

/**
 * After an edge has last found the store away it calls it again, and a store that has forgotten learns of accounts by
 * their requests.
 */
const IN_USE_AFTER_MS = 1_500

async function storeInUse({ logs }: Stage, clients: Clients, deadlineMs: number): Promise<void> {
  const isAlone = () => Date.now() - (logs.alone.at(-1)?.atMs ?? 0) < IN_USE_AFTER_MS
  while (isAlone() && Date.now() < deadlineMs) await sleep(LOOK_EVERY_MS)
  await clients.visit()
}

async function allReady({ cluster, network }: Stage): Promise<boolean> {
  const servers = network?.servers ? [] : Object.values(cluster.servers)
  if (servers.some(({ pid }) => pid === undefined)) return false
  const ready = await Promise.all(
    cluster.processes.map(async ({ pid, plan }) => {
      if (pid === undefined) return false
      const response = await fetch(`${plan.healthUrl}${plan.readyPath}`, { signal: AbortSignal.timeout(1_000) }).catch(
        () => null,
      )
      return response?.ok ?? false
    }),
  )
  return ready.every(Boolean)
}
