/**
 * The wire over a NATS connection.
 *
 * The client drops messages that are published while it is disconnected, and so does this wire, openly. A listener
 * that throws would end the client's reader for good, so nothing is let through.
 *
 * All messages of one turn of the event loop leave in one write. The client itself would write once per callback.
 *
 * The client waits for a server's reply as long as it takes, through reconnections, too. A close would wait for ever
 * for a server that is gone. So this wire waits for a connected server alone, and for a bounded time.
 */

import type { Msg, MsgHdrs, NatsConnection, PublishOptions, Status } from '@nats-io/nats-core'
import type { OnStatus } from '../port.ts'
import { LivedTimeout, atTurnsEnd, endTurn } from '../event-loop.ts'
import type { Wire, WireListener } from '../wire.ts'
import { createConnection, type OnReadOpts, type Socket } from 'node:net'
import { NatsConnectionImpl, nodeResolveHost, NodeTransport, setTransportFactory } from './client-internals.ts'
import type { NodeConnectionOptions } from '@nats-io/transport-node'

const RETRY_MS = 100
const RETRY_JITTER_MS = 150
const DIAL_TIMEOUT_MS = 2_000
/** A server that is gone without a word owes two pongs after 4 to 6 s; then the client goes to another. */
const PING_INTERVAL_MS = 2_000

/** Opens the connection to NATS, and keeps trying until there is one. */
export async function connectNats(url: string, name: string, onStatus: OnStatus): Promise<NatsConnection> {
  const options = connectionOptions(url, name)
  setTransportFactory({ factory: () => new Transport(), dnsResolveFn: nodeResolveHost })
  while (true) {
    try {
      const connection = await NatsConnectionImpl.connect(options)
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

const READ_BYTES = 64 * 1024

/** Node allocates so much for each read, and gives most of it back. One buffer takes all reads here, and each is copied. */
function intoOneBuffer(socket: () => Socket): OnReadOpts {
  return {
    buffer: Buffer.allocUnsafeSlow(READ_BYTES),
    callback(bytes, buffer) {
      socket().emit('data', Buffer.from(buffer.subarray(0, bytes)))
      return true
    },
  }
}

/**
 * Leaves no socket behind. The library's own forgets a socket whose server accepts and says nothing, or whose packets
 * are lost. Each dial leaks one, and a process that wants to end waits for all of them.
 */
class Transport extends NodeTransport {
  #dialed: Socket | undefined

  override dial({ hostname, port }: { hostname: string; port: number }): Promise<Socket> {
    const { promise, resolve, reject } = Promise.withResolvers<Socket>()
    const socket: Socket = createConnection({
      host: hostname,
      port,
      noDelay: true,
      onread: intoOneBuffer(() => socket),
    })
    this.#dialed = socket
    let failure: Error | undefined
    socket.on('error', (error) => (failure = error))
    socket.on('close', () => reject(failure ?? new Error('the connection was given up')))
    socket.on('connect', () => {
      // The library sets its own.
      socket.removeAllListeners()
      resolve(socket)
    })
    return promise
  }

  override async close(error?: Error): Promise<void> {
    if (!this.connected) this.#dialed?.destroy()
    await super.close(error)
  }
}

const NO_RESPONDERS = 503
const SMALLEST_PAYLOAD_BYTES = 16 * 1024
const SILENT_AFTER_MS = 2_000

export interface NatsWire extends Wire {
  publish(subject: string, payload: Uint8Array, replyTo?: string, headers?: MsgHdrs): void
}

export function natsWire(connection: NatsConnection, onStatus: OnStatus): NatsWire {
  const listeners: ((connected: boolean) => void)[] = []
  let connected = true
  /** Nobody waits for a silent server a second time. */
  let silent = false
  let maxPayloadBytes = maxPayloadOf(connection)

  const changed = (now: boolean) => {
    connected = now
    silent = false
    if (now) maxPayloadBytes = maxPayloadOf(connection)
    for (const listener of listeners) listener(now)
  }
  void watch(connection.status(), (status) => {
    if (status.type === 'disconnect') {
      changed(false)
      onStatus({ type: 'disconnected' })
    } else if (status.type === 'reconnect') {
      changed(true)
      onStatus({ type: 'reconnected', server: status.server })
    } else if (status.type === 'error') {
      onStatus({ type: 'error', error: status.error, during: 'talking to NATS' })
    }
  })

  const patiently = async (reply: Promise<unknown>) => {
    const settled = reply.then(
      () => void (silent = false),
      () => {},
    )
    if (!connected || silent) return
    const late = Promise.withResolvers<void>()
    const timer = new LivedTimeout(() => {
      silent = true
      late.resolve()
    }, SILENT_AFTER_MS)
    await Promise.race([settled, late.promise])
    timer.clear()
  }

  const guarded = (listener: WireListener) => (error: Error | null, message: Msg) => {
    if (error !== null) return onStatus({ type: 'error', error, during: 'subscribing' })
    try {
      const { data } = message
      const noResponder = data.length === 0 && message.headers?.code === NO_RESPONDERS
      listener(data, message.subject, message.reply || undefined, noResponder)
    } catch (thrown) {
      onStatus({ type: 'error', error: thrown, during: `handling a message on ${message.subject}` })
    }
  }

  return {
    get connected() {
      return connected
    },
    get maxPayloadBytes() {
      return maxPayloadBytes
    },
    publish(subject, payload, replyTo, headers) {
      atTurnsEnd(() => {
        if (!connected) return
        try {
          connection.publish(subject, payload, publishOptions(replyTo, headers))
        } catch (error) {
          onStatus({ type: 'error', error, during: `publishing to ${subject}` })
        }
      })
    },
    async subscribe(subject, group, listener) {
      const callback = guarded(listener)
      const subscription = connection.subscribe(
        subject,
        group === undefined ? { callback } : { queue: group, callback },
      )
      // A flush that is cut off by a disconnect does no harm: the client subscribes again when it reconnects.
      await connection.flush().catch(() => {})
      return {
        async [Symbol.asyncDispose]() {
          if (!connection.isClosed()) await patiently(subscription.drain())
        },
      }
    },
    onConnection: (listener) => void listeners.push(listener),
    async flush() {
      endTurn()
      await patiently(connection.flush())
    },
    async [Symbol.asyncDispose]() {
      endTurn()
      await patiently(connection.flush())
      connected = false
      await connection.close()
    },
  }
}

function publishOptions(reply: string | undefined, headers: MsgHdrs | undefined): PublishOptions | undefined {
  if (reply === undefined) return undefined
  return headers === undefined ? { reply } : { reply, headers }
}

function maxPayloadOf(connection: NatsConnection): number {
  const bytes = connection.info?.max_payload ?? 1024 * 1024
  if (bytes < SMALLEST_PAYLOAD_BYTES)
    throw new RangeError(`the NATS server's max_payload of ${bytes} bytes is too small`)
  return bytes
}

async function watch(statuses: AsyncIterable<Status>, onEach: (status: Status) => void): Promise<void> {
  for await (const status of statuses) onEach(status)
}
