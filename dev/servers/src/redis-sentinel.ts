/**
 * A primary of Redis with a replica, and three Sentinels that watch it, on loopback. Needs the program on this machine.
 */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findProgram } from './find-program.ts'
import { startLocalServer } from './local-server.ts'
import { operatorOf, until } from './redis-cluster.ts'
import { runProgram } from './program.ts'
import { startLocalRedis } from './redis.ts'
import type { Server, ServerOptions } from './server.ts'

/** By which the Sentinels know the primary. */
export const SENTINEL_NAME = 'gateway'
const QUORUM = 2

export interface RedisSentinels extends AsyncDisposable {
  /** By which a client finds the primary. */
  readonly url: string
  readonly primary: Server
  readonly replica: Server
  readonly sentinels: Server[]
}

/** The Sentinels require `password`, Redis does not. */
export async function startRedisSentinels({ password = '' } = {}): Promise<RedisSentinels> {
  const file = findProgram('redis-server')
  if (!file) throw new Error('redis-server is not installed')
  await using starting = new AsyncDisposableStack()
  const primary = starting.use(await startLocalRedis(file, {}))
  const primaryPort = portOf(primary)
  const follow = () => ({ replicaof: `127.0.0.1 ${primaryPort}` })
  const replica = starting.use(await startLocalRedis(file, {}, { more: follow }))
  const watched = { primaryPort, password, downAfterMs: 1_000 }
  const sentinels = await Promise.all(Array.from({ length: QUORUM + 1 }, () => startSentinel(file, {}, watched)))
  for (const sentinel of sentinels) starting.use(sentinel)
  await untilSentinelsKnow(sentinels, 1, password)
  const started = starting.move()
  return {
    url: sentinelUrl(sentinels),
    primary,
    replica,
    sentinels,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** The server's role and the primary that it follows, as Redis' INFO reports them. */
export async function replicationOf(server: Server): Promise<string> {
  await using own = operatorOf(server)
  return await own.redis.info('replication')
}

export function sentinelUrl(sentinels: readonly Server[]): string {
  return `redis-sentinel://${sentinels.map((sentinel) => `127.0.0.1:${portOf(sentinel)}`).join(',')}#${SENTINEL_NAME}`
}

/** Without each other and the replicas, they could promote nobody. */
export async function untilSentinelsKnow(sentinels: readonly Server[], replicas: number, password = ''): Promise<void> {
  await Promise.all(sentinels.map((sentinel) => untilAllAreKnown(sentinel, replicas, password)))
}

async function untilAllAreKnown(sentinel: Server, replicas: number, password: string): Promise<void> {
  await using own = operatorOf(sentinel, password)
  const sentinelInfo = () => own.redis.info('sentinel')
  const known = `slaves=${replicas},sentinels=${QUORUM + 1}`
  await until('a Sentinel knows all others', async () => (await sentinelInfo()).includes(known), sentinelInfo)
}

function portOf({ url }: Server): string {
  return new URL(url).port
}

interface Watched {
  primaryPort: string
  /** The Sentinels' own. */
  password?: string
  downAfterMs: number
  /** The words before the command, which put it somewhere. */
  launcher?: readonly string[]
}

export function startSentinel(
  file: string,
  options: ServerOptions,
  { primaryPort, password, downAfterMs, launcher = [] }: Watched,
): Promise<Server> {
  return startLocalServer(
    {
      name: 'redis-sentinel',
      stopSignal: 'SIGTERM',
      discardSignal: 'SIGKILL',
      url: (port) => `redis://127.0.0.1:${port}`,
      async start({ directory, port }) {
        const settings = join(directory, 'sentinel.conf')
        // The Sentinel writes into it who else is there.
        const watched = [
          `bind 127.0.0.1`,
          `port ${port}`,
          `dir ${directory}`,
          `sentinel monitor ${SENTINEL_NAME} 127.0.0.1 ${primaryPort} ${QUORUM}`,
          `sentinel down-after-milliseconds ${SENTINEL_NAME} ${downAfterMs}`,
          `sentinel failover-timeout ${SENTINEL_NAME} 5000`,
          ...(password ? [`requirepass ${password}`, `sentinel sentinel-pass ${password}`] : []),
        ]
        await writeFile(settings, `${watched.join('\n')}\n`)
        const [program, ...args] = [...launcher, file, settings, '--sentinel']
        return runProgram({
          file: program,
          args,
          cwd: directory,
          readyLine: /Sentinel ID is/,
        })
      },
    },
    options,
  )
}
