/**
 * The adapters that the conformance suite runs on: memory, Redis, and a Redis Cluster of three nodes. The cluster refuses a
 * script whose keys lie in several slots.
 */

import { startRedis } from '@gateway/servers/start'
import { startRedisCluster } from '@gateway/servers/redis-cluster'
import { afterAll, beforeAll, describe } from 'vitest'
import { openMemoryIdempotency } from '../memory.ts'
import type { IdempotencyStore } from '../port.ts'
import { openRedisIdempotency } from '../redis.ts'

export type OpenStore = (options: { now: () => number }) => Promise<IdempotencyStore>

export function onEachAdapter(promises: (open: OpenStore) => void): void {
  describe('in memory', () => promises(async (options) => openMemoryIdempotency(options)))
  describe('in Redis', () => promises(onServer(() => startRedis())))
  describe('in a Redis Cluster', () => promises(onServer(() => startRedisCluster(3))))
}

/** Tests share the server and take an account each. They may be slower than real callers would wait. */
function onServer(start: () => Promise<AsyncDisposable & { readonly url: string }>): OpenStore {
  let server: Awaited<ReturnType<typeof start>>
  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server[Symbol.asyncDispose]())
  return (options) => openRedisIdempotency({ url: server.url, timeoutMs: 5_000, ...options })
}
