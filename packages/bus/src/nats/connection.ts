/** Opens the connection to NATS, and keeps trying until there is one. */

import type { NodeConnectionOptions } from '@nats-io/transport-node'
import type { NatsConnection } from '@nats-io/nats-core'
import type { OnStatus } from '../status.ts'
import { connect } from './transport.ts'

const RETRY_MS = 100
const RETRY_JITTER_MS = 150
const DIAL_TIMEOUT_MS = 2_000
/** A server that is gone without a word owes two answers after 4 to 6 s; then the client goes to another. */
const PING_INTERVAL_MS = 2_000

export async function connectNats(url: string, name: string, onStatus: OnStatus): Promise<NatsConnection> {
  const options = connectionOptions(url, name)
  while (true) {
    try {
      const connection = await connect(options)
      onStatus({ type: 'connected', server: connection.getServer() })
      return connection
    } catch (error) {
      onStatus({ type: 'connecting', error })
      await new Promise((resolve) => setTimeout(resolve, retryDelayMs()))
    }
  }
}

function connectionOptions(url: string, name: string): NodeConnectionOptions {
  const urls = url.split(',').map((one) => new URL(one.trim()))
  const [first] = urls
  if (first === undefined) throw new TypeError('the NATS URL is empty')
  const { username, password } = first
  return {
    servers: urls.map((one) => one.host),
    name,
    ...(username !== '' && password === '' && { token: decodeURIComponent(username) }),
    ...(password !== '' && { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
    ...(first.protocol === 'tls:' && { tls: {} }),
    timeout: DIAL_TIMEOUT_MS,
    maxReconnectAttempts: -1,
    reconnectDelayHandler: retryDelayMs,
    ignoreAuthErrorAbort: true,
    pingInterval: PING_INTERVAL_MS,
    noAsyncTraces: true,
  }
}

function retryDelayMs(): number {
  return RETRY_MS + Math.random() * RETRY_JITTER_MS
}
