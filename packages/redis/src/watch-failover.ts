/**
 * Hears from the Sentinels when another server is the primary. A former one that is cut off with this process would serve
 * on, and would admit the same requests a second time.
 *
 * The client's own `failoverDetector` ends the client for ever when it hears while a Sentinel is being asked. A Sentinel
 * that is away is tried again for ever, and says nothing: the connection to the primary has its own errors.
 */

import { Redis } from 'ioredis'
import type { SentinelAddress } from './sentinel-address.ts'

const CHANNEL = '+switch-master'
const RETRY_MS = 1_000

export function watchFailover(address: SentinelAddress, onFailover: () => void): Disposable {
  const { sentinels, name, sentinelUsername: username, sentinelPassword: password, hasTls } = address
  const clients = sentinels.map((sentinel) => {
    const client = new Redis({
      ...sentinel,
      ...(username && { username }),
      ...(password && { password }),
      ...(hasTls && { tls: {} }),
      disableClientInfo: true,
      enableReadyCheck: false,
      maxRetriesPerRequest: null,
      retryStrategy: () => RETRY_MS,
    })
    client.on('error', () => {})
    client.on('message', (_channel, message: string) => {
      if (message.startsWith(`${name} `)) onFailover()
    })
    // The client subscribes again on each connection.
    client.subscribe(CHANNEL).catch(() => {})
    return client
  })
  return {
    [Symbol.dispose]: () => {
      for (const client of clients) client.disconnect()
    },
  }
}
