/**
 * A Redis Cluster on loopback: nodes that share the slots equally, without replicas. Needs the program on this machine.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { findProgram } from './find-program.ts'
import { startLocalServer } from './local-server.ts'
import { runProgram } from './program.ts'
import type { Server } from './server.ts'

const SLOTS = 16_384
const READY_TIMEOUT_MS = 30_000

export interface RedisCluster extends AsyncDisposable {
  /** All nodes, separated by commas. */
  readonly url: string
  readonly nodes: Server[]
  /** With what lies in it, as `redis-cli --cluster reshard` does it. */
  moveSlot(slot: number, between: { from: number; to: number }): Promise<void>
}

export async function startRedisCluster(size: number): Promise<RedisCluster> {
  const file = findProgram('redis-server')
  if (!file) throw new Error('redis-server is not installed')
  await using starting = new AsyncDisposableStack()
  const nodes: Server[] = []
  for (let index = 0; index < size; index++) nodes.push(starting.use(await startNode(file)))
  await join(nodes)
  const started = starting.move()
  return {
    url: nodes.map(({ url }) => url).join(','),
    nodes,
    moveSlot: (slot, { from, to }) => moveSlot(slot, nodes[from]!, nodes[to]!),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

function startNode(file: string): Promise<Server> {
  return startLocalServer(
    {
      name: 'redis-cluster',
      stopSignal: 'SIGTERM',
      discardSignal: 'SIGKILL',
      url: (port) => `redis://127.0.0.1:${port}`,
      start: ({ directory, port }) => {
        const options = {
          bind: '127.0.0.1',
          port: String(port),
          dir: directory,
          appendonly: 'yes',
          save: '',
          'cluster-enabled': 'yes',
          'cluster-port': String(busPortOf(port)),
          'cluster-node-timeout': '2000',
          // The nodes that are there go on.
          'cluster-require-full-coverage': 'no',
        }
        return runProgram({
          file,
          args: Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
          cwd: directory,
          port,
          greet: 'PING\r\n',
          serves: (answer) => answer.startsWith('+PONG'),
        })
      },
    },
    {},
  )
}

function busPortOf(port: number): number {
  return port < 50_000 ? port + 10_000 : port - 10_000
}

async function join(nodes: Server[]): Promise<void> {
  const clients = nodes.map(({ url }) => new Redis(url))
  try {
    const share = Math.ceil(SLOTS / nodes.length)
    for (const [index, client] of clients.entries()) {
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
      const last = Math.min(SLOTS, (index + 1) * share) - 1
      await client.call('CLUSTER', 'ADDSLOTSRANGE', index * share, last)
    }
    for (const { url } of nodes.slice(1)) {
      const port = Number(new URL(url).port)
      await clients[0]!.call('CLUSTER', 'MEET', '127.0.0.1', port, busPortOf(port))
    }
    for (const client of clients) await untilWhole(client)
  } finally {
    for (const client of clients) client.disconnect()
  }
}

async function moveSlot(slot: number, from: Server, to: Server): Promise<void> {
  const [source, target] = [new Redis(from.url), new Redis(to.url)]
  try {
    const [sourceId, targetId] = [await source.cluster('MYID'), await target.cluster('MYID')]
    await target.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', sourceId)
    await source.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', targetId)
    const { hostname, port } = new URL(to.url)
    const keys = (await source.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[]
    await source.call('MIGRATE', hostname, port, '', 0, 5_000, 'KEYS', ...keys)
    for (const node of [target, source]) await node.call('CLUSTER', 'SETSLOT', slot, 'NODE', targetId)
  } finally {
    for (const node of [source, target]) node.disconnect()
  }
}

async function untilWhole(client: Redis): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS
  for (;;) {
    const state = await client.cluster('INFO')
    if (state.includes('cluster_state:ok') && state.includes(`cluster_slots_ok:${SLOTS}`)) return
    if (Date.now() > deadline) throw new Error(`the Redis Cluster did not come together:\n${state}`)
    await delay(20)
  }
}
