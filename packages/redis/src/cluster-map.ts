/**
 * Which node holds which slot of a Redis Cluster, as its nodes tell. Of several answers the newest counts, slot by slot: a
 * node takes a slot over under a greater epoch of its own. A node on the small side of a cut network tells an old
 * owner, and so does one that has voted for the next owner and has not heard of its success yet.
 */

import { SLOTS } from './key-slot.ts'

/** The primary of some slots, as one node tells. */
interface Owner {
  /** `host:port` */
  address: string
  /** Its config epoch. */
  epoch: number
}

/** By slot. */
export type ClusterMap = (Owner | undefined)[]

type SlotsReply = [
  first: number,
  last: number,
  primary: [host: string | null, port: number, id: string],
  ...replicas: unknown[],
][]

/** `asked`: the `host:port` of the node that answered `CLUSTER SLOTS` and `CLUSTER NODES`. */
export function readClusterMap(slots: unknown, nodes: unknown, asked: string): ClusterMap {
  const epochs = epochsById(String(nodes))
  const map: ClusterMap = Array.from({ length: SLOTS })
  for (const [first, last, [host, port, id]] of slots as SlotsReply) {
    // A node that does not know its own address is the one that was asked.
    const address = `${host || asked.slice(0, asked.lastIndexOf(':'))}:${port}`
    map.fill({ address, epoch: epochs.get(id) ?? 0 }, first, last + 1)
  }
  return map
}

/** Lines of `<id> <address> <flags> <primary> <ping> <pong> <config epoch> …`. */
function epochsById(nodes: string): Map<string, number> {
  const fields = nodes.split('\n').map((line) => line.split(' '))
  return new Map(fields.map(([id, , , , , , epoch]) => [id!, Number(epoch ?? 0)]))
}

/** The address of each slot's owner. */
export function newestOwners(maps: readonly ClusterMap[]): (string | undefined)[] {
  const newest: ClusterMap = Array.from({ length: SLOTS })
  for (const map of maps) {
    for (const [slot, owner] of map.entries()) {
      if (owner && owner.epoch > (newest[slot]?.epoch ?? -1)) newest[slot] = owner
    }
  }
  return newest.map((owner) => owner?.address)
}
