/**
 * Redis with two asynchronous replicas. The run promotes one, as Sentinel would: the gateway sees an address that leads to
 * another server. A primary that does not hear of its replicas refuses writes.
 */

import { freePort } from '@gateway/embedded-postgres/free-port'
import { MAX_LAG_SECONDS, type ProcessName } from '../../plan/places.ts'
import type { Hosts } from '../hosts.ts'
import type { Disks } from './host-disk.ts'
import { openRedisNodes, type ReplicatedRedis, urlOf } from './redis-nodes.ts'

/** A primary that nobody copies refuses writes. */
export const NEEDS_A_COPY = { 'min-replicas-to-write': '1', 'min-replicas-max-lag': String(MAX_LAG_SECONDS) }

export async function openRedisCopies(hosts: Hosts, folder: string, disks: Disks): Promise<ReplicatedRedis> {
  await using opening = new AsyncDisposableStack()
  const address = await freePort()
  const nodes = opening.use(
    await openRedisNodes({ hosts, folder, disks, form: 'copies', settings: () => NEEDS_A_COPY }),
  )
  const { promotionsAtMs, kill, scriptsRun, servesFor } = nodes
  let former = 0
  let primary = 0
  const follow = (index: number) => nodes.command(index, 'REPLICAOF', '127.0.0.1', String(nodes.ports[primary]))
  const copies = () => [...nodes.hosts.keys()].filter((index) => index !== primary)
  const lead = (unheardBy?: ProcessName) =>
    hosts.serve(nodes.hosts[primary]!, address, { at: nodes.ports[primary]!, unheardBy })
  await Promise.all(copies().map(follow))
  await nodes.caughtUp(1)
  await lead()

  const opened = opening.move()
  return {
    url: urlOf(address),
    promotionsAtMs,
    kill,
    scriptsRun,
    servesFor,
    primary: async () => nodes.hosts[primary]!,
    copiesOf: (host) => nodes.hosts.filter((other) => other !== host),
    decidersOf: () => [],
    async promote(unheardBy) {
      former = primary
      primary = (former + 1) % nodes.hosts.length
      await nodes.command(primary, 'REPLICAOF', 'NO', 'ONE')
      await Promise.all(
        copies()
          .filter((copy) => copy !== former)
          .map(follow),
      )
      await lead(unheardBy)
    },
    async rejoin() {
      await follow(former)
      await lead()
    },
    caughtUp: () => nodes.caughtUp(1),
    setClock: (wrongByMs) => nodes.setClock(primary, wrongByMs),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
