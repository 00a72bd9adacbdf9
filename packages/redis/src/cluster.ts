/**
 * A Redis Cluster as one script connection: a connection to each primary, and the map that says whose a slot is.
 *
 * Each node has lives of its own, so an epoch is that of the node which holds the key. A slot that moves to another
 * node, by a failover or an operator's hand, is another life too, and its state is asked for again. While a node is
 * away, calls for its keys reject, as with a single server, and those for others go on. After every failure the
 * map is read again, from whichever node answers.
 */

import { setTimeout as delay } from 'node:timers/promises'
import {
  openConnection,
  OPENING_MS,
  type ConnectionOptions,
  type OpeningConnection,
  type ScriptConnection,
} from './connection.ts'
import { keySlot } from './key-slot.ts'

/** Failures come in crowds. */
const READ_MAP_AT_MOST_EVERY_MS = 250

interface SlotRange {
  first: number
  last: number
  /** The primary's `host:port`. */
  node: string
}

export async function connectCluster(urls: string[], options: ConnectionOptions): Promise<ScriptConnection> {
  const nodes = new Map<string, OpeningConnection>()
  let ranges: SlotRange[] = []
  let reading: Promise<void> | null = null
  /** A call failed since the map was last begun to be read. */
  let readAgain = false
  let closed = false

  const nodeAt = (address: string): OpeningConnection => {
    const known = nodes.get(address)
    if (known) return known
    // Password, database and encryption are those of the addresses that were given.
    const url = new URL(urls[0]!)
    const nodeUrl = `${url.protocol}//${credentialsOf(url)}${address}${url.search}`
    const opened = openConnection({ ...options, url: nodeUrl })
    nodes.set(address, opened)
    return opened
  }

  const nodeOf = (key: string): OpeningConnection => {
    const slot = keySlot(key)
    const range = ranges.find(({ first, last }) => first <= slot && slot <= last)
    if (range) return nodeAt(range.node)
    readMapSoon()
    throw new options.Unavailable('no node of the Redis Cluster is known to hold the account')
  }

  async function readMap(): Promise<void> {
    for (const [address, node] of nodes) {
      const slots = await node.command('CLUSTER', 'SLOTS').catch(() => null)
      if (slots === null || closed) continue
      ranges = readRanges(slots as SlotsReply, address.slice(0, address.lastIndexOf(':')))
      for (const range of ranges) nodeAt(range.node)
      return
    }
  }

  function readMapSoon(): void {
    readAgain = reading !== null
    reading ??= readMap()
      .then(() => delay(READ_MAP_AT_MOST_EVERY_MS, undefined, { ref: false }))
      .finally(() => {
        reading = null
        if (readAgain && !closed) readMapSoon()
      })
  }

  const run: ScriptConnection['run'] = async (script, keys, args, expectedEpoch) => {
    const node = nodeOf(keys[0]!)
    try {
      return await node.run(script, keys, args, expectedEpoch)
    } catch (error) {
      readMapSoon()
      const owner = movedTo(error)
      if (owner === undefined || expectedEpoch !== undefined) throw error
      // It was refused, not run, so it is no repetition.
      return nodeAt(owner).run(script, keys, args)
    }
  }

  for (const url of urls) nodeAt(new URL(url).host)
  await Promise.race([
    Promise.any([...nodes.values()].map(({ opened }) => opened)),
    delay(OPENING_MS, undefined, { ref: false }),
  ])
  await readMap()
  await Promise.race([
    Promise.all(ranges.map(({ node }) => nodeAt(node).opened)),
    delay(OPENING_MS, undefined, { ref: false }),
  ])

  return {
    run,
    epoch: async (key) => {
      if (key === undefined) throw new Error('a Redis Cluster has no epoch of its own; each of its nodes has one')
      return nodeOf(key).epoch()
    },
    async timeMs(key) {
      if (key !== undefined) return nodeOf(key).timeMs()
      const asked = ranges.map(async ({ node }) => nodeAt(node).timeMs())
      return Promise.any(asked).catch((cause: unknown) => {
        throw new options.Unavailable('no node of the Redis Cluster answers', { cause })
      })
    },
    async [Symbol.asyncDispose]() {
      closed = true
      await Promise.all([...nodes.values()].map((node) => node[Symbol.asyncDispose]()))
    },
  }
}

type SlotsReply = [first: number, last: number, primary: [host: string | null, port: number], ...replicas: unknown[]][]

/** A node that does not know its own address is the one that was asked. */
function readRanges(reply: SlotsReply, askedHost: string): SlotRange[] {
  return reply.map(([first, last, [host, port]]) => ({ first, last, node: `${host || askedHost}:${port}` }))
}

/** `MOVED 3999 127.0.0.1:6381` */
function movedTo(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error ? /^MOVED \d+ (\S+:\d+)/.exec(cause.message)?.[1] : undefined
}

function credentialsOf({ username, password }: URL): string {
  if (password === '') return ''
  return `${username}:${password}@`
}
