/**
 * Which node holds which slot of a Redis Cluster, as its nodes tell. Of several answers the newest counts: the one of the
 * node that has heard of the latest election or move. A node on the small side of a cut network tells an old one.
 */

import { SLOTS } from './key-slot.ts'

export interface ClusterMap {
  /** Of the cluster, not of a node: it grows with every election and every slot that arrives somewhere. */
  epoch: number
  /** By slot: the primary's `host:port`. */
  owners: (string | undefined)[]
}

type SlotsReply = [first: number, last: number, primary: [host: string | null, port: number], ...replicas: unknown[]][]

/** `asked`: the `host:port` of the node that answered `CLUSTER SLOTS` and `CLUSTER INFO`. */
export function readClusterMap(slots: unknown, info: unknown, asked: string): ClusterMap {
  const owners: ClusterMap['owners'] = Array.from({ length: SLOTS })
  for (const [first, last, [host, port]] of slots as SlotsReply) {
    // A node that does not know its own address is the one that was asked.
    owners.fill(`${host || asked.slice(0, asked.lastIndexOf(':'))}:${port}`, first, last + 1)
  }
  return { epoch: Number(/^cluster_current_epoch:(\d+)/m.exec(String(info))?.[1] ?? 0), owners }
}

export function newestOf(maps: readonly ClusterMap[]): ClusterMap | undefined {
  return maps.reduce<ClusterMap | undefined>((best, map) => (best && best.epoch >= map.epoch ? best : map), undefined)
}
