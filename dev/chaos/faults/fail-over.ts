/**
 * A host is taken off the network, or a primary is lost so that a copy takes its place. The former primary comes back
 * as a copy.
 *
 * Redis' replica hears nothing for a while before, so it is promoted without the last seconds' data.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Clients } from '../clients/client.ts'
import type { Losing, Network } from '../network/network-links.ts'
import type { FaultAction } from '../plan/faults.ts'
import { EDGES, type ProcessName, serverAt, type ServerHost, type ServerName } from '../plan/places.ts'
import type { Stage } from '../stage/open-stage.ts'

/** They share their place with this run. */
const CLIENTS = 'clients'

/** Part of the time that the primary is away. */
const STALE_SHARE = 0.25
/** The last Sentinel reports a new primary somewhat after the first. A cluster's map is read every five seconds. */
const MAP_SETTLES_WITHIN_MS = 6_000
const PROBE_EVERY_MS = 100

type FailOver = Extract<FaultAction, { kind: 'fail-over' }>
type Split = Extract<FaultAction, { kind: 'split' }>

export async function failedOver(network: Network, { server: name, killed, forMs }: FailOver): Promise<void> {
  const { redis } = network.servers!
  const server = network.servers![name]
  const primary = await server.primary()
  const apart = name === 'redis' ? await network.part(primary, redis.copiesOf(primary)) : null
  if (apart) await sleep(forMs * STALE_SHARE)
  const end = killed ? await dead(network, primary) : await network.isolate(primary)
  await server.promote()
  await sleep(forMs)
  await end()
  await apart?.()
  await server.rejoin()
  await server.caughtUp()
}

/** It is started again when it has to rejoin. */
async function dead({ servers }: Network, primary: string): Promise<Losing> {
  await servers!.redis.kill(primary)
  return async () => {}
}

/** A former primary of Redis, after its replacement. */
export interface Former {
  /** The time for which it took writes. */
  servedMs: number
  /** The number of scripts that it was sent. */
  scripts: number
}

/** Redis has a new primary, and an edge goes on calling the former one, which hears no replica and no other primary. */
export async function split(stage: Stage, clients: Clients, { edge, together, forMs }: Split): Promise<Former> {
  const network = stage.network!
  const { redis } = network.servers!
  const former = await redis.primary(stage.keyring.of('probe').account)
  const ends = [await network.isolate(former, [edge, CLIENTS])]
  if (together) ends.push(await network.isolate(edge, [former, CLIENTS]))
  else ends.push(await network.part(edge, redis.decidersOf(former)))
  const beganAtMs = performance.now()
  const leftMs = () => forMs - (performance.now() - beganAtMs)
  const scriptsBefore = await redis.scriptsRun(former)
  const probing = probeUntil(clients, EDGES.indexOf(edge) as 0 | 1, () => leftMs() <= 0)
  const [servedMs] = await Promise.all([redis.servesFor(former, forMs), redis.promote(edge)])
  await sleep(Math.max(0, leftMs()))
  const scripts = (await redis.scriptsRun(former)) - scriptsBefore
  // Alone with it, the edge refuses most requests before it calls Redis.
  if (scripts === 0 && !together) throw new Error(`${edge} does not ask ${former} any more: Redis is not split`)
  for (const end of ends) await end()
  await probing
  await redis.rejoin()
  await redis.caughtUp()
  return { servedMs, scripts }
}

async function probeUntil(clients: Clients, edge: 0 | 1, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await clients.probe(edge)
    await sleep(PROBE_EVERY_MS)
  }
}

/** Redis has a new primary, though everybody reaches the former one but those who took it for lost, and its copies. */
export async function unheard(network: Network, forMs: number): Promise<Former> {
  const { redis } = network.servers!
  const former = await redis.primary()
  const ends = [
    await network.part(former, redis.copiesOf(former)),
    await network.silence(former, redis.decidersOf(former)),
  ]
  const [servedMs] = await Promise.all([redis.servesFor(former, MAP_SETTLES_WITHIN_MS), redis.promote()])
  await sleep(MAP_SETTLES_WITHIN_MS)
  const scriptsBefore = await redis.scriptsRun(former)
  await sleep(forMs)
  const scripts = (await redis.scriptsRun(former)) - scriptsBefore
  for (const end of ends) await end()
  await redis.rejoin()
  await redis.caughtUp()
  return { servedMs, scripts }
}

/** Late is not lost: nobody need promote a copy. */
export async function late(network: Network, delayMs: number, forMs: number): Promise<void> {
  const { redis } = network.servers!
  const primary = await redis.primary()
  const end = await network.delay(primary, redis.decidersOf(primary), delayMs)
  await sleep(forMs)
  await end()
  await redis.caughtUp()
}

/** A host is off the network. Where it is a server's, no other fault is injected before its copies are whole again. */
export async function isolated(network: Network, host: ProcessName | ServerHost, forMs: number): Promise<void> {
  const end = await network.isolate(host)
  await sleep(forMs)
  await end()
  await network.servers?.[serverAt(host) as ServerName]?.caughtUp()
}
