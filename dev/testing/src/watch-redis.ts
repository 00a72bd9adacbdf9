/**
 * Records the writes to a Redis while a test watches, by clients and by their scripts.
 */

import { Redis } from 'ioredis'

export interface Watched extends AsyncDisposable {
  /** Every write so far, command and key, whose key holds one of these words. */
  of(words: readonly string[]): Promise<string[]>
}

/** Those that the scripts use. An EVALSHA shows its commands one by one. */
const READS = new Set([
  ...['EVALSHA', 'TIME', 'GET', 'HGET', 'HMGET', 'HGETALL', 'HLEN', 'HSTRLEN', 'EXISTS'],
  ...['ZCARD', 'ZSCORE', 'ZRANGE', 'ZRANGEBYSCORE'],
])
/** No key; its reading marks how far the monitor has come. */
const MARK = 'watched until here'

export async function watchWrites(url: string): Promise<Watched> {
  const redis = new Redis(url)
  const monitor = await redis.monitor()
  const writes: string[] = []
  let marked = Promise.withResolvers<void>()
  monitor.on('monitor', (_time: string, [command = '', key = '']: string[]) => {
    if (key === MARK) marked.resolve()
    else if (!READS.has(command.toUpperCase())) writes.push(`${command.toUpperCase()} ${key}`)
  })
  return {
    async of(words) {
      marked = Promise.withResolvers()
      await redis.get(MARK)
      await marked.promise
      return writes.filter((write) => words.some((word) => write.includes(word)))
    },
    [Symbol.asyncDispose]: async () => {
      monitor.disconnect()
      redis.disconnect()
    },
  }
}
