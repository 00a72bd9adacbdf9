/**
 * A Redis Cluster on loopback: primaries that share the slots equally, and replicas on request. Needs the program on
 * this machine.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { findProgram } from './find-program.ts'
import { startLocalRedis } from './redis.ts'
import type { Server } from './server.ts'

const SLOTS = 16_384
const READY_TIMEOUT_MS = 120_000

export interface RedisCluster extends AsyncDisposable {
  /** The primaries, separated by commas. */
  readonly url: string
  readonly nodes: Server[]
  /** Each of the primary at its place. */
  readonly replicas: Server[]
  /** Moves the slot with its keys, as `redis-cli --cluster reshard` does. */
  moveSlot(slot: number, between: Between): Promise<void>
  /** The same step by step. */
  beginMove(slot: number, between: Between): Promise<SlotMove>
  /** Sets if a replica takes over by itself from a primary that is away. By default it does. */
  letReplicasTakeOver(may: boolean): Promise<void>
  /** The replica takes over from its primary in good order, or the primary again from its replica. */
  handOver(index: number, to: 'replica' | 'primary'): Promise<void>
}

interface Between {
  from: number
  to: number
}

export interface SlotMove {
  /** All keys that lie there now, or only those whose names match. */
  moveKeys(matching?: RegExp): Promise<void>
  finish(): Promise<void>
}

export async function startRedisCluster(size: number, options: { replicas?: boolean } = {}): Promise<RedisCluster> {
  const file = findProgram('redis-server')
  if (!file) throw new Error('redis-server is not installed')
  await using starting = new AsyncDisposableStack()
  const startOne = () => startLocalRedis(file, {}, { more: clusterSettings })
  const startSome = (count: number) => Promise.all(Array.from({ length: count }, startOne))
  const [nodes, replicas] = await Promise.all([startSome(size), startSome(options.replicas ? size : 0)])
  for (const node of [...nodes, ...replicas]) starting.use(node)
  await joinCluster(nodes, replicas)
  const started = starting.move()
  const beginMove = (slot: number, { from, to }: Between) => beginMoveOf(slot, nodes[from]!, nodes[to]!)
  return {
    url: nodes.map(({ url }) => url).join(','),
    nodes,
    replicas,
    beginMove,
    async moveSlot(slot, between) {
      const move = await beginMove(slot, between)
      await move.moveKeys()
      await move.finish()
    },
    async letReplicasTakeOver(may) {
      for (const replica of replicas) {
        await using own = operatorOf(replica)
        await own.redis.config('SET', 'cluster-replica-no-failover', may ? 'no' : 'yes')
      }
    },
    handOver: (index, to) => handOver(to === 'replica' ? replicas[index]! : nodes[index]!),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

export function clusterSettings(port: number) {
  return {
    'cluster-enabled': 'yes',
    'cluster-port': String(busPortOf(port)),
    'cluster-node-timeout': '2000',
    // The nodes that are there go on.
    'cluster-require-full-coverage': 'no',
  }
}

/** Nodes speak with each other there. */
export function busPortOf(port: number): number {
  return port < 50_000 ? port + 10_000 : port - 10_000
}

/** The nodes share the slots equally. Each replica follows the node at its place. */
export async function joinCluster(nodes: readonly Server[], replicas: readonly Server[]): Promise<void> {
  const clients = nodes.map(({ url }) => new Redis(url))
  try {
    const share = Math.ceil(SLOTS / nodes.length)
    for (const [index, client] of clients.entries()) {
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
      const last = Math.min(SLOTS, (index + 1) * share) - 1
      await client.call('CLUSTER', 'ADDSLOTSRANGE', index * share, last)
    }
    for (const { url } of [...nodes.slice(1), ...replicas]) {
      const port = Number(new URL(url).port)
      await clients[0]!.call('CLUSTER', 'MEET', '127.0.0.1', port, busPortOf(port))
    }
    for (const client of clients) {
      const isComplete = (state: string) =>
        state.includes('cluster_state:ok') && state.includes(`cluster_slots_ok:${SLOTS}`)
      const state = () => client.cluster('INFO')
      await until('the Redis Cluster comes together', async () => isComplete(await state()), state)
    }
    for (const [index, replica] of replicas.entries()) await follow(replica, await clients[index]!.cluster('MYID'))
  } finally {
    for (const client of clients) client.disconnect()
  }
}

/** Once it knows its primary, which `CLUSTER REPLICATE` names as an operator would. */
async function follow(replica: Server, primaryId: string): Promise<void> {
  await using own = operatorOf(replica)
  await until('the replica follows its primary', async () => {
    if (!String(await own.redis.cluster('NODES')).includes(primaryId)) return false
    await own.redis.call('CLUSTER', 'REPLICATE', primaryId)
    return true
  })
  await until('the replica has what its primary has', async () => {
    return (await own.redis.info('replication')).includes('master_link_status:up')
  })
}

async function handOver(to: Server): Promise<void> {
  await using own = operatorOf(to)
  const reports = async (fact: string) => (await own.redis.info('replication')).includes(fact)
  await until('it follows the primary', () => reports('master_link_status:up'))
  // Nodes would not vote twice within seconds.
  await own.redis.call('CLUSTER', 'FAILOVER', 'TAKEOVER')
  await until('it takes over', () => reports('role:master'))
}

async function beginMoveOf(slot: number, from: Server, to: Server): Promise<SlotMove> {
  await using source = operatorOf(from)
  await using target = operatorOf(to)
  const [sourceId, targetId] = [await source.redis.cluster('MYID'), await target.redis.cluster('MYID')]
  await target.redis.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', sourceId)
  await source.redis.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', targetId)
  return {
    async moveKeys(matching = /./) {
      await using own = operatorOf(from)
      const { hostname, port } = new URL(to.url)
      const keys = (await own.redis.call('CLUSTER', 'GETKEYSINSLOT', slot, 10_000)) as string[]
      const some = keys.filter((key) => matching.test(key))
      if (some.length > 0) await own.redis.call('MIGRATE', hostname, port, '', 0, 5_000, 'KEYS', ...some)
    },
    async finish() {
      for (const server of [to, from]) {
        await using own = operatorOf(server)
        await own.redis.call('CLUSTER', 'SETSLOT', slot, 'NODE', targetId)
      }
    },
  }
}

/** A client for an operator's commands. */
export function operatorOf({ url }: Server, password = ''): { redis: Redis } & AsyncDisposable {
  const redis = new Redis(url, { password })
  return { redis, [Symbol.asyncDispose]: async () => redis.disconnect() }
}

/** `detail`: more text for the error, should it not come to pass. */
export async function until(what: string, isSo: () => Promise<boolean>, detail = async () => ''): Promise<void> {
  const deadlineAtMs = Date.now() + READY_TIMEOUT_MS
  while (!(await isSo())) {
    if (Date.now() > deadlineAtMs) throw new Error(`it did not come to pass: ${what}\n${await detail()}`)
    await delay(20)
  }
}
