/**
 * Finds the node of a Redis Cluster that holds a key, by the key's slot and the owners that the nodes report. Reads
 * the redirections that nodes send.
 *
 * Of several maps the newest counts, slot by slot: a node takes a slot over under a greater epoch of its own. A node
 * on the small side of a cut network reports an old owner. So does a voter for the next owner that does not know of
 * its success yet.
 */

export const SLOTS = 16_384
const POLYNOMIAL = 0x1021

/** CRC-16 (XMODEM) of the key's hash tag, the part in braces, or of the whole key. */
export function keySlot(key: string): number {
  const open = key.indexOf('{')
  const close = key.indexOf('}', open + 1)
  const hashed = open >= 0 && close > open + 1 ? key.slice(open + 1, close) : key
  return crc16(Buffer.from(hashed)) % SLOTS
}

function crc16(bytes: Uint8Array): number {
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ POLYNOMIAL) & 0xffff : (crc << 1) & 0xffff
  }
  return crc
}

/** The primary of some slots, as one node reports it. */
interface Owner {
  /** `host:port` */
  address: string
  /** Its config epoch. */
  epoch: number
}

/** By slot. */
type ClusterMap = (Owner | undefined)[]

type SlotsReply = [
  first: number,
  last: number,
  primary: [host: string | null, port: number, id: string],
  ...replicas: unknown[],
][]

/** `sender`: the `host:port` of the node that replied to `CLUSTER SLOTS` and `CLUSTER NODES`. */
export function readClusterMap(slots: unknown, nodes: unknown, sender: string): ClusterMap {
  const epochs = epochsById(String(nodes))
  const map: ClusterMap = Array.from({ length: SLOTS })
  for (const [first, last, [host, port, id]] of slots as SlotsReply) {
    // A node that does not know its own address is the sender.
    const address = `${host || sender.slice(0, sender.lastIndexOf(':'))}:${port}`
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

/** A node's reply instead of running a script: the slot has moved, is on its way, or has no owner. */
type Redirection =
  /** For good. */
  | { kind: 'moved'; node: string }
  /** For this call: the keys have gone ahead of their slot. */
  | { kind: 'ask'; node: string }
  /** Some of the keys have gone ahead: soon they are together again. */
  | { kind: 'soon' }
  /** No node serves the slot. */
  | { kind: 'nobody' }

/** Returns undefined when the call failed for another reason. `error`: as the connection rejects, its cause being the node's. */
export function redirectionIn(error: unknown): Redirection | undefined {
  const cause = error instanceof Error ? error.cause : undefined
  if (!(cause instanceof Error)) return undefined
  const [code, , node] = cause.message.split(' ')
  switch (code) {
    // `MOVED 3999 127.0.0.1:6381`
    case 'MOVED':
      return node ? { kind: 'moved', node } : undefined
    case 'ASK':
      return node ? { kind: 'ask', node } : undefined
    case 'TRYAGAIN':
      return { kind: 'soon' }
    case 'CLUSTERDOWN':
      return { kind: 'nobody' }
    default:
      return undefined
  }
}
