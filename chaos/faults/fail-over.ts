/**
 * A host is taken off the network. Where it is a primary's, a copy may take its place; the former primary comes back as a
 * copy.
 *
 * Redis' replica hears nothing for a while before, so it is promoted without the last seconds' data.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Network } from '../network/network-links.ts'
import { type EdgeName, type ProcessName, serverAt, type ServerHost, type ServerName } from '../plan/places.ts'

/** They share their place with this run. */
const CLIENTS = 'clients'

/** Part of the time that the primary is away. */
const STALE_SHARE = 0.25

export async function failedOver(network: Network, name: ServerName, forMs: number): Promise<void> {
  const server = network.servers![name]
  const primary = await server.primary()
  const apart = name === 'redis' ? await network.part(name, primary) : null
  if (apart) await sleep(forMs * STALE_SHARE)
  const end = await network.isolate(primary)
  await server.promote()
  await sleep(forMs)
  await end()
  await apart?.()
  await server.rejoin()
  await server.caughtUp()
}

export interface Split {
  /** How long the former primary took writes. */
  servedMs: number
  /** How many scripts the edge sent it. */
  scripts: number
}

/** Redis has a new primary, and an edge goes on asking the former one, which hears no replica. */
export async function split(network: Network, edge: EdgeName, together: boolean, forMs: number): Promise<Split> {
  const { redis } = network.servers!
  const former = await redis.primary()
  const ends = [await network.isolate(former, [edge, CLIENTS])]
  if (together) ends.push(await network.isolate(edge, [former, CLIENTS]))
  const beganAtMs = performance.now()
  const scriptsBefore = await redis.scriptsRun(former)
  const [servedMs] = await Promise.all([redis.servesFor(former, forMs), redis.promote(edge)])
  await sleep(forMs - (performance.now() - beganAtMs))
  const scripts = (await redis.scriptsRun(former)) - scriptsBefore
  // Alone with it, the edge refuses most requests before it asks.
  if (scripts === 0 && !together) throw new Error(`${edge} does not ask ${former} any more: Redis is not split`)
  for (const end of ends) await end()
  await redis.rejoin()
  await redis.caughtUp()
  return { servedMs, scripts }
}

/** A host is off the network. Where it is a server's, no other fault strikes before its copies are whole again. */
export async function isolated(network: Network, host: ProcessName | ServerHost, forMs: number): Promise<void> {
  const end = await network.isolate(host)
  await sleep(forMs)
  await end()
  await network.servers?.[serverAt(host) as ServerName]?.caughtUp()
}
