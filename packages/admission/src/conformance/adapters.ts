/**
 * The adapters that the conformance suite runs on: memory, Redis, and a Redis Cluster of three nodes. The cluster refuses a
 * script whose keys lie in several slots.
 */

import { startRedis } from '@gateway/servers/start'
import { startRedisCluster } from '@gateway/servers/redis-cluster'
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
  describe('in a Redis Cluster', () => promises(onServer(() => startRedisCluster(3))))
}

type Started = AsyncDisposable & { readonly url: string }

/** Tests share the server and take an account each. They may be slower than real callers would wait. */
function onServer(start: () => Promise<Started>): OpenAdmission {
  let server: Started
  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server[Symbol.asyncDispose]())
  return (options) => openRedisAdmission({ url: server.url, timeoutMs: 5_000, ...options })
}
