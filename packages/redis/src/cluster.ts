/**
 * A Redis Cluster as one script connection: a connection to each primary, and the map that says whose a slot is.
 *
 * Each node has incarnations of its own, so an epoch is that of the node which holds the key. A slot that moves to another
 * node, by a failover or an operator's hand, is another incarnation too, and its state is read again. A node that is away
 * takes its own keys along and no others. Calls follow a slot on its way to the node that has their keys already.
 * Where their keys are on both sides, a call waits for them, within its own time.
 *
 * The map is read after every failure, from all nodes that reply, and every few seconds. A node that holds no slot
 * any more is disconnected: should it hold some again, its incarnation is read again. So is that of a node which
 * names another, before its next script: it may have been a replica between two readings of the map.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { keySlot, newestOwners, readClusterMap, redirectionIn, SLOTS } from './cluster-map.ts'
import {
  atMost,
  openConnection,
  OPENING_MS,
  type Arguments,
  type ConnectionOptions,
  type OpeningConnection,
  type ScriptConnection,
} from './connection.ts'
import type { Script } from './script.ts'

/** Failures come in crowds. */
const READ_MAP_AT_MOST_EVERY_MS = 250
/** A process that sends nothing learns of no failure. */
const READ_MAP_AT_LEAST_EVERY_MS = 5_000
const RETRY_AFTER_MS = 10
/** A slot that no node would serve is a part by itself for this long. */
const IN_TROUBLE_MS = 1_000
/** A node gets calls before it holds a slot, while slots are on their way to it. */
const IMPORTING_NODE_KEPT_MS = 3_000

export async function connectCluster(urls: string[], options: ConnectionOptions): Promise<ScriptConnection> {
  const nodes = openNodes(urls[0]!, options)
  let owners: (string | undefined)[] = Array.from({ length: SLOTS })
  const inTroubleUntilMs = new Map<number, number>()

  async function readMap(): Promise<void> {
    const maps = await Promise.all(
      nodes.known().map(async ([address, node]) => {
        const replies = Promise.all([node.command('CLUSTER', 'SLOTS'), node.command('CLUSTER', 'NODES')])
        return replies.then(
          ([slots, nodesReply]) => [readClusterMap(slots, nodesReply, address)],
          () => [],
        )
      }),
    )
    const known = maps.flat()
    if (known.length > 0) {
      owners = newestOwners(known)
      nodes.keepOnly(new Set(owners.filter((owner) => owner !== undefined)))
    } else {
      for (const url of urls) nodes.at(new URL(url).host)
    }
  }
  const map = readAgainAndAgain(readMap)

  const ownerOf = (slot: number): OpeningConnection => {
    const owner = owners[slot]
    if (owner !== undefined) return nodes.at(owner)
    map.readSoon()
    throw new options.Unavailable('no node of the Redis Cluster is known to hold the account')
  }

  const run: ScriptConnection['run'] = async (script, keys, args, expectedEpoch) => {
    const slot = keySlot(keys[0]!)
    try {
      return await ownerOf(slot).run(script, keys, args, expectedEpoch)
    } catch (error) {
      map.readSoon()
      if (!redirectionIn(error)) throw error
      return follow(slot, error, { script, keys, args, expectedEpoch })
    }
  }

  /** A call that a node refused did not run, so another node runs it for the first time. */
  async function follow(slot: number, refusal: unknown, call: Call): Promise<unknown> {
    const untilMs = performance.now() + options.timeoutMs
    for (let [error, hops] = [refusal, 0]; ; hops++) {
      const way = redirectionIn(error)
      if (way?.kind === 'moved') {
        doubtOwnerOf(slot)
        owners[slot] = way.node
      }
      // State that was read in the incarnation of another node is read again.
      const isAnotherIncarnation = way?.kind === 'moved' && call.expectedEpoch !== undefined
      if (!way || isAnotherIncarnation) throw error
      if (way.kind === 'nobody' || performance.now() > untilMs) {
        markInTrouble(slot)
        throw error
      }
      // Nodes that send us to each other agree soon.
      if (hops > 2) await delay(RETRY_AFTER_MS)
      try {
        return await goOn(slot, way, call, untilMs)
      } catch (next) {
        error = next
      }
    }
  }

  function doubtOwnerOf(slot: number): void {
    const owner = owners[slot]
    if (owner !== undefined) nodes.at(owner).doubt()
  }

  async function goOn(slot: number, way: Way, call: Call, untilMs: number): Promise<unknown> {
    const { script, keys, args, expectedEpoch } = call
    if (way.kind === 'moved') return (await nodes.opened(way.node, untilMs)).run(script, keys, args)
    if (way.kind === 'ask' && expectedEpoch === undefined) {
      return runAhead(slot, await nodes.opened(way.node, untilMs), call)
    }
    await delay(RETRY_AFTER_MS)
    return ownerOf(slot).run(script, keys, args, expectedEpoch)
  }

  /** A node that has only some of the keys yet does not know whether there are more. */
  async function runAhead(slot: number, ahead: OpeningConnection, { script, keys, args }: Call): Promise<unknown> {
    try {
      return await ahead.runOnImporting(script, keys, args)
    } catch (error) {
      if (redirectionIn(error)?.kind !== 'soon') throw error
      await delay(RETRY_AFTER_MS)
      return ownerOf(slot).run(script, keys, args)
    }
  }

  function markInTrouble(slot: number): void {
    inTroubleUntilMs.set(slot, performance.now() + IN_TROUBLE_MS)
  }

  function isInTrouble(slot: number): boolean {
    if (inTroubleUntilMs.size === 0) return false
    const untilMs = inTroubleUntilMs.get(slot) ?? 0
    if (untilMs > performance.now()) return true
    inTroubleUntilMs.delete(slot)
    return false
  }

  for (const url of urls) nodes.at(new URL(url).host)
  const opening = (): Promise<void>[] => nodes.known().map(([, { opened }]) => opened)
  await atMost(OPENING_MS, Promise.any(opening()))
  await readMap()
  await atMost(OPENING_MS, Promise.all(opening()))

  return {
    run,
    partOf(key) {
      const slot = keySlot(key)
      return isInTrouble(slot) ? `slot ${slot}` : (owners[slot] ?? 'nobody')
    },
    epoch: async (key) => {
      if (key === undefined) throw new Error('a Redis Cluster has no epoch of its own; each of its nodes has one')
      return ownerOf(keySlot(key)).epoch()
    },
    async timeMs(key) {
      if (key !== undefined) return ownerOf(keySlot(key)).timeMs()
      const times = nodes.known().map(async ([, node]) => node.timeMs())
      return Promise.any(times).catch((cause: unknown) => {
        throw new options.Unavailable('no node of the Redis Cluster answers', { cause })
      })
    },
    async [Symbol.asyncDispose]() {
      map[Symbol.dispose]()
      await nodes[Symbol.asyncDispose]()
    },
  }
}

interface Call {
  script: Script
  keys: string[]
  args: Arguments
  expectedEpoch: string | undefined
}

type Way = NonNullable<ReturnType<typeof redirectionIn>>

/** The connections, by `host:port`. Password, database and encryption are those of the address that was given. */
function openNodes(given: string, options: ConnectionOptions) {
  const nodes = new Map<string, OpeningConnection>()
  const leaving = new Set<OpeningConnection>()
  const keptUntilMs = new Map<string, number>()
  let ownersBefore: ReadonlySet<string> = new Set()
  const url = new URL(given)
  let isClosed = false

  const at = (address: string): OpeningConnection => {
    const known = nodes.get(address)
    if (known) return known
    const nodeUrl = `${url.protocol}//${credentialsOf(url)}${address}${url.search}`
    const opened = openConnection({ ...options, url: nodeUrl })
    if (isClosed) void opened[Symbol.asyncDispose]()
    else nodes.set(address, opened)
    return opened
  }

  /** Calls under way on it end first. */
  function leave(address: string, node: OpeningConnection): void {
    nodes.delete(address)
    leaving.add(node)
    setTimeout(() => {
      leaving.delete(node)
      void node[Symbol.asyncDispose]()
    }, options.timeoutMs).unref()
  }

  return {
    at,
    known: () => [...nodes],
    /** A node that another one named may be new: it has as long as the call. */
    async opened(address: string, untilMs: number): Promise<OpeningConnection> {
      const node = at(address)
      keptUntilMs.set(address, performance.now() + IMPORTING_NODE_KEPT_MS)
      await atMost(Math.max(0, untilMs - performance.now()), node.opened)
      return node
    },
    keepOnly(owners: ReadonlySet<string>): void {
      for (const owner of owners) at(owner)
      const nowMs = performance.now()
      for (const [address, untilMs] of keptUntilMs) if (untilMs < nowMs) keptUntilMs.delete(address)
      for (const [address, node] of nodes) {
        // One that has lost its slots may hold them again in another incarnation, so only one that had none is kept.
        const isKept = keptUntilMs.has(address) && !ownersBefore.has(address)
        if (!owners.has(address) && !isKept) leave(address, node)
      }
      ownersBefore = owners
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      await Promise.all([...nodes.values(), ...leaving].map((node) => node[Symbol.asyncDispose]()))
    },
  }
}

function readAgainAndAgain(read: () => Promise<void>): { readSoon(): void } & Disposable {
  let reading: Promise<void> | null = null
  /** A call failed since the map was last begun to be read. */
  let again = false
  let isClosed = false
  const readSoon = (): void => {
    again = reading !== null
    reading ??= read()
      .then(() => delay(READ_MAP_AT_MOST_EVERY_MS, undefined, { ref: false }))
      .finally(() => {
        reading = null
        if (again && !isClosed) readSoon()
      })
  }
  const anyway = setInterval(readSoon, READ_MAP_AT_LEAST_EVERY_MS).unref()
  return {
    readSoon,
    [Symbol.dispose]() {
      isClosed = true
      clearInterval(anyway)
    },
  }
}

function credentialsOf({ username, password }: URL): string {
  if (password === '') return ''
  return `${username}:${password}@`
}
