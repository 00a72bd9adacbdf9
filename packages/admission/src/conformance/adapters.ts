/**
 * The adapters that the conformance suite runs on: memory, Redis, and Redis as a cluster, which refuses a script whose
 * keys do not all lie in one slot.
 */

import { startRedis, type Server } from '@gateway/testing/servers'
import { findProgram } from '@gateway/testing/servers/find-program'
import { startLocalServer } from '@gateway/testing/servers/local-server'
import { runProgram } from '@gateway/testing/servers/program'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe } from 'vitest'
import { openMemoryAdmission } from '../memory.ts'
import type { Admission } from '../port.ts'
import { openRedisAdmission } from '../redis.ts'

export interface OpenOptions {
  now?: () => number
  onLapsed?: (count: number) => void
}

export type OpenAdmission = (options: OpenOptions) => Promise<Admission>

export function onEachAdapter(promises: (open: OpenAdmission) => void): void {
  describe('in memory', () => promises(async (options) => openMemoryAdmission(options)))
  describe('in Redis', () => promises(onServer(() => startRedis())))
  describe('in a Redis cluster', () => promises(onServer(startRedisCluster)))
}

/** Tests share the server and take an account each. They may be slower than real callers would wait. */
function onServer(start: () => Promise<Server>): OpenAdmission {
  let server: Server
  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server[Symbol.asyncDispose]())
  return (options) => openRedisAdmission({ url: server.url, timeoutMs: 5_000, ...options })
}

/** One node that owns every slot. */
async function startRedisCluster(): Promise<Server> {
  const file = findProgram('redis-server')
  if (!file) throw new Error('redis-server is not installed')
  const cluster = ['--cluster-enabled', 'yes', '--bind', '127.0.0.1', '--save', '']
  const server = await startLocalServer(
    {
      name: 'redis-cluster',
      stopSignal: 'SIGTERM',
      discardSignal: 'SIGKILL',
      url: (port) => `redis://127.0.0.1:${port}`,
      start: ({ directory, port }) =>
        runProgram({
          file,
          args: [
            ...cluster,
            '--port',
            String(port),
            '--cluster-port',
            String(port < 50_000 ? port + 10_000 : port - 10_000),
            '--dir',
            directory,
          ],
          cwd: directory,
          port,
          greet: 'PING\r\n',
          serves: (answer) => answer.startsWith('+PONG'),
        }),
    },
    {},
  )
  const client = new Redis(server.url)
  await client.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16383)
  while (!(await client.cluster('INFO')).includes('cluster_state:ok'))
    await new Promise((resolve) => setTimeout(resolve, 20))
  client.disconnect()
  return server
}
