/**
 * Hears from the Sentinels when another server is the primary. A former one that is cut off with this process would serve
 * on, and would admit the same requests a second time.
 *
 * The client's own `failoverDetector` ends the client for ever when an announcement comes during a query of a
 * Sentinel. A Sentinel that is away is tried again for ever, and says nothing: the connection to the primary has its
 * own errors. A Sentinel that is back is queried, because nobody repeats its announcements.
 */

import { Redis } from 'ioredis'
import type { SentinelAddress } from './sentinel-address.ts'

const CHANNEL = '+switch-master'
const RETRY_MS = 1_000

export function watchFailover(address: SentinelAddress, onFailover: () => void): Disposable {
  const clients = address.sentinels.map((sentinel) => watchOne(sentinel, address, onFailover))
  return {
    [Symbol.dispose]: () => {
      for (const client of clients) client.disconnect()
    },
  }
}

function watchOne(
  sentinel: SentinelAddress['sentinels'][number],
  { name, sentinelUsername: username, sentinelPassword: password, hasTls }: SentinelAddress,
  onFailover: () => void,
): Redis {
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
  /** The primary's host and port, as this Sentinel last named it. */
  let named = ''
  client.on('error', () => {})
  client.on('message', (_channel, message: string) => {
    const [switched, , , ...primary] = message.split(' ')
    if (switched !== name) return
    named = primary.join(' ')
    onFailover()
  })
  // The client subscribes again on each connection.
  client.subscribe(CHANNEL).catch(() => {})
  client.on('ready', () => {
    client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name).then(
      (reply) => {
        const primary = String(reply).replace(',', ' ')
        if (named !== '' && named !== primary) onFailover()
        named = primary
      },
      () => {},
    )
  })
  return client
}
