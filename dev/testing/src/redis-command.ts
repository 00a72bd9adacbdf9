/**
 * One command to a Redis, as an operator would give it.
 */

import { Redis } from 'ioredis'

export async function commandRedis(url: string, command: string, ...args: string[]): Promise<unknown> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, commandTimeout: 5_000 })
  redis.on('error', () => {})
  try {
    await redis.connect()
    return await redis.call(command, ...args)
  } finally {
    redis.disconnect()
  }
}
