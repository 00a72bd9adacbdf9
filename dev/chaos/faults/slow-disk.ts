/**
 * The disk of a server's primary takes few writes: of NATS' stream, Redis' append-only file or PostgreSQL's log.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Network } from '../network/network-links.ts'
import type { ServerHost, ServerName } from '../plan/places.ts'

/** Returns the proof that it was slow. */
export async function slowDisk(
  network: Network,
  server: ServerName,
  writesPerSecond: number,
  forMs: number,
): Promise<string> {
  const servers = network.servers!
  const host = (await servers[server].primary()) as ServerHost
  const slow = await servers.disks[host].slow(writesPerSecond)
  if (!slow) return "left out: it takes cgroup v1's blkio"
  await sleep(forMs)
  await slow.end()
  return slow.note
}
