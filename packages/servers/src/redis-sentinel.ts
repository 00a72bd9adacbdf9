/**
 * A primary of Redis with a replica, and three Sentinels that watch it, on loopback. Needs the program on this machine.
 */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { findProgram } from './find-program.ts'
import { startLocalServer } from './local-server.ts'
import { runProgram } from './program.ts'
import { startLocalRedis } from './redis.ts'
import type { Server } from './server.ts'

const NAME = 'gateway'
const QUORUM = 2
const READY_TIMEOUT_MS = 30_000

export interface RedisSentinels extends AsyncDisposable {
  /** By which a client finds the primary. */
  readonly url: string
  readonly primary: Server
  readonly replica: Server
  readonly sentinels: Server[]
}

/** The Sentinels ask for `password`, not Redis. */
export async function startRedisSentinels({ password = '' } = {}): Promise<RedisSentinels> {
  const file = findProgram('redis-server')
  if (!file) throw new Error('redis-server is not installed')
  await using starting = new AsyncDisposableStack()
  const primary = starting.use(await startLocalRedis(file, {}))
  const replica = starting.use(await startLocalRedis(file, {}, { more: ['--replicaof', '127.0.0.1', portOf(primary)] }))
  const sentinels = await Promise.all(
    Array.from({ length: QUORUM + 1 }, () => startSentinel(file, portOf(primary), password)),
  )
  for (const sentinel of sentinels) starting.use(sentinel)
  await Promise.all(sentinels.map((sentinel) => untilAllAreKnown(sentinel, password)))
  const started = starting.move()
  return {
    url: `redis-sentinel://${sentinels.map((sentinel) => `127.0.0.1:${portOf(sentinel)}`).join(',')}#${NAME}`,
    primary,
    replica,
    sentinels,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** The server's role and the primary that it follows, as Redis' INFO tells them. */
export async function replicationOf({ url }: Server): Promise<string> {
  const client = new Redis(url)
  try {
    return await client.info('replication')
  } finally {
    client.disconnect()
  }
}

/** Without each other and the replica, they could promote nobody. */
async function untilAllAreKnown({ url }: Server, password: string): Promise<void> {
  const client = new Redis(url, { password })
  try {
    const isWhole = async () => (await client.info('sentinel')).includes(`slaves=1,sentinels=${QUORUM + 1}`)
    const deadlineAtMs = Date.now() + READY_TIMEOUT_MS
    while (!(await isWhole())) {
      if (Date.now() > deadlineAtMs)
        throw new Error(`a Sentinel does not know all others:\n${await client.info('sentinel')}`)
      await delay(50)
    }
  } finally {
    client.disconnect()
  }
}

function portOf({ url }: Server): string {
  return new URL(url).port
}

function startSentinel(file: string, primaryPort: string, password: string): Promise<Server> {
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
          `sentinel monitor ${NAME} 127.0.0.1 ${primaryPort} ${QUORUM}`,
          `sentinel down-after-milliseconds ${NAME} 1000`,
          `sentinel failover-timeout ${NAME} 5000`,
          ...(password ? [`requirepass ${password}`, `sentinel sentinel-pass ${password}`] : []),
        ]
        await writeFile(settings, `${watched.join('\n')}\n`)
        return runProgram({
          file,
          args: [settings, '--sentinel'],
          cwd: directory,
          port,
          greet: 'PING\r\n',
          serves: (answer) => /^(\+PONG|-NOAUTH)/.test(answer),
        })
      },
    },
    {},
  )
}
