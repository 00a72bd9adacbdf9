/**
 * A Redis Cluster of three primaries, each with a replica. The other primaries decide that one is lost, and its replica takes
 * its slots. A primary that hears no majority refuses everything after the node timeout.
 */

import { busPortOf, clusterSettings, joinCluster } from '@gateway/servers/redis-cluster'
import { keySlot } from '@gateway/redis/cluster-map'
import type { Hosts } from '../hosts.ts'
import type { Disks } from './host-disk.ts'
import { openRedisNodes, type ReplicatedRedis, until } from './redis-nodes.ts'

const PRIMARIES = 3
const COMPLETE_WITHIN_MS = 60_000

/** A node in the reply to `CLUSTER SLOTS`. */
type Node = [host: string, port: number, ...unknown[]]
type Range = [first: number, last: number, primary: Node, ...replicas: Node[]]

export async function openRedisCluster(hosts: Hosts, folder: string, disks: Disks): Promise<ReplicatedRedis> {
  await using opening = new AsyncDisposableStack()
  const nodes = opening.use(await openRedisNodes({ hosts, folder, disks, form: 'cluster', settings: clusterSettings }))
  for (const [index, host] of nodes.hosts.entries()) await hosts.serve(host, busPortOf(nodes.ports[index]!))
  await joinCluster(nodes.servers.slice(0, PRIMARIES), nodes.servers.slice(PRIMARIES))
  nodes.watch()

  const { promotionsAtMs, kill, scriptsRun } = nodes
  const hostAt = (port: number) => nodes.hosts[nodes.ports.indexOf(port)]!
  const others = (host: string) => nodes.hosts.filter((other) => other !== host)
  /** By the port of the primary, which is the first of each range's nodes. */
  let ranges: Range[] = []
  const rangeOf = (host: string) => ranges.find(([, , [, port]]) => hostAt(port) === host)!
  let former = ''
  let turn = 0
  let shifted = ''

  async function primary(account?: string): Promise<string> {
    await caughtUp()
    ranges = (await nodes.command(0, 'CLUSTER', 'SLOTS')) as Range[]
    const slot = account === undefined ? undefined : keySlot(account)
    const range =
      slot === undefined
        ? ranges[turn++ % ranges.length]
        : ranges.find(([first, last]) => first <= slot && slot <= last)
    const [, , [, port]] = range!
    former = hostAt(port)
    return former
  }

  /** In a slot of the host's. */
  function keyAt(host: string): string {
    const [first, last] = rangeOf(host)
    for (let number = 0; ; number++) {
      const key = `chaos:written:${number}`
      const slot = keySlot(key)
      if (first <= slot && slot <= last) return key
    }
  }

  async function isComplete(): Promise<boolean> {
    const states = await Promise.all(nodes.hosts.map((_, index) => nodes.command(index, 'CLUSTER', 'INFO')))
    return states.every((state) => /cluster_state:ok[^]*cluster_slots_pfail:0/.test(String(state)))
  }
  async function caughtUp(): Promise<void> {
    await nodes.caughtUp(PRIMARIES)
    await until('every node finds the cluster whole', COMPLETE_WITHIN_MS, () => isComplete().catch(() => false))
  }

  const opened = opening.move()
  return {
    url: nodes.ports.map((port) => `redis-cluster://127.0.0.1:${port}`).join(','),
    promotionsAtMs,
    kill,
    scriptsRun,
    servesFor: (host, atMostMs) => nodes.servesFor(host, atMostMs, keyAt(host)),
    primary,
    copiesOf(host) {
      const [, , , ...replicas] = rangeOf(host)
      return replicas.map(([, port]) => hostAt(port))
    },
    decidersOf: others,
    promote: () => nodes.promoted(promotionsAtMs.length),
    // It hears of its successor, and follows it.
    rejoin: () => nodes.rejoined(nodes.indexOf(former)),
    caughtUp,
    async setClock(wrongByMs) {
      if (wrongByMs !== 0) shifted = await primary()
      await nodes.setClock(nodes.indexOf(shifted), wrongByMs)
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
