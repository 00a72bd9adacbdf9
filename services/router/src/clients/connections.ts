/**
 * The connections to a backend, straight or by a proxy: how they are opened, shared by calls, and broken off.
 *
 * Each carries one call at a time, and a call takes the connection that became free last. Under a falling load the
 * others stay idle until they end. undici's `Pool` looks for a free connection among all, twice a call. Under a
 * thousand calls this took a quarter of a router's time. Here a call costs the same, however many are under way.
 *
 * The backend notices at once when a connection is reset in the middle of a response. After a mere close, the close
 * follows the bytes that the backend has still to send. Most servers that are blocked in sending wait until the peer
 * acknowledges or refuses those bytes. After a loss the system sends them again only after seconds or even minutes. All
 * that time the backend generates for nobody. A reset throws the bytes away. The system does not repeat a lost reset,
 * but then it refuses the next byte of the response. TLS connections are closed: Node cannot reset them.
 */

import type { BackendConfig } from '@gateway/contracts/config'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { buildConnector, Client, Pool, ProxyAgent, type Dispatcher } from 'undici'
import type { ProxyFor } from './proxies.ts'

/** The connections to a backend. */
export interface Connections {
  dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void
  /** Once all calls have ended. */
  close(): Promise<void>
}

/**
 * The lifetime of a connection. The next call opens another, which may lead to another address of the same name. So a
 * server that joins behind the name gets its part of the load, and one that leaves gets none.
 */
const LIFETIME_MS = 60_000

/** The counts of tokens that a router requests at once. */
export const MOST_COUNTS = 8
/**
 * A probe and counts of tokens have connections beside those of the slots. Otherwise a call with a slot would wait for a
 * connection, and time out as if its backend let nobody in.
 */
const CALLS_WITHOUT_SLOT = 1 + MOST_COUNTS

export function openConnections(
  config: BackendConfig,
  proxyFor: ProxyFor = () => null,
  lifetimeMs = LIFETIME_MS,
): Connections {
  const { url, maxConcurrent, timeouts } = config
  const proxy = proxyFor(new URL(url))
  const most = maxConcurrent + CALLS_WITHOUT_SLOT
  if (proxy !== null) {
    return connectionsThrough(proxy, config, { connections: most, pipelining: 1, clientTtl: lifetimeMs, ...UNTIMED })
  }
  const connect = breakableConnector({ allowH2: false, timeout: timeouts.connectMs })
  return openPool(new URL(url).origin, { most, lifetimeMs, connect, ...UNTIMED })
}

/** The exchange keeps time itself, to the millisecond and not while its reader is slow. */
const UNTIMED = { headersTimeout: 0, bodyTimeout: 0 }

/** A proxy that does not respond in time counts as a failed connection. */
function connectionsThrough(uri: string, { url, timeouts }: BackendConfig, options: Pool.Options): Connections {
  const { origin } = new URL(url)
  const { connectMs } = timeouts
  const agent = new ProxyAgent({
    ...options,
    uri,
    allowH2: false,
    connectTimeout: connectMs,
    clientFactory: (proxy, given: object) => new Pool(proxy, { ...given, headersTimeout: connectMs }),
  })
  return {
    dispatch: (request, handler) => agent.dispatch({ ...request, ...UNTIMED, origin }, handler),
    close: () => agent.close(),
  }
}

interface PoolOptions extends Client.Options {
  /** At most so many at once. Further calls wait for one, in their order. */
  most: number
  /** A connection takes no call after so long. */
  lifetimeMs: number
}

interface Connection {
  readonly client: Client
  readonly openedAtMs: number
  isFree: boolean
}

type Call = Parameters<Connections['dispatch']>

export function openPool(origin: string, { most, lifetimeMs, ...options }: PoolOptions): Connections {
  const kept = new Set<Connection>()
  /** The idle connections in `kept`; the last one was the last in use. */
  const free: Connection[] = []
  const waiting: Call[] = []
  const closing = new Set<Promise<void>>()
  let onNoneWaiting = () => {}

  function open(): Connection {
    const client = new Client(origin, { ...options, pipelining: 1 })
    const connection = { client, openedAtMs: performance.now(), isFree: false }
    const lost = () => {
      part(connection)
      serveWaiting()
    }
    client.on('drain', () => {
      release(connection)
      serveWaiting()
    })
    client.on('disconnect', lost)
    client.on('connectionError', lost)
    kept.add(connection)
    return connection
  }

  function take(): Connection | undefined {
    for (let last = free.pop(); last !== undefined; last = free.pop()) {
      last.isFree = false
      if (performance.now() - last.openedAtMs <= lifetimeMs) return last
      part(last)
    }
    return kept.size < most ? open() : undefined
  }

  function send(connection: Connection, [request, handler]: Call): void {
    connection.client.dispatch(request, handler)
    // The call may have failed at once.
    release(connection)
  }

  function release(connection: Connection): void {
    if (connection.isFree || connection.client.stats.size > 0 || !kept.has(connection)) return
    connection.isFree = true
    free.push(connection)
  }

  /** Its client ends the call that it has, on another connection if this one was lost before the call was sent. */
  function part(connection: Connection): void {
    if (!kept.delete(connection)) return
    if (connection.isFree) free.splice(free.indexOf(connection), 1)
    const closed = connection.client.close().finally(() => closing.delete(closed))
    closing.add(closed)
  }

  function serveWaiting(): void {
    while (waiting.length > 0) {
      const connection = take()
      if (!connection) return
      send(connection, waiting.shift()!)
    }
    onNoneWaiting()
  }

  return {
    dispatch(...call) {
      const connection = waiting.length === 0 ? take() : undefined
      if (connection) send(connection, call)
      else waiting.push(call)
    },

    async close() {
      if (waiting.length > 0) await new Promise<void>((resolve) => (onNoneWaiting = resolve))
      for (const connection of kept) part(connection)
      await Promise.all(closing)
    },
  }
}

let isBreakingOff = false

/** The connection that `close` destroys, before it returns, is reset. */
export function breakOff(close: () => void): void {
  isBreakingOff = true
  try {
    close()
  } finally {
    isBreakingOff = false
  }
}

/** Opens connections that can be broken off. */
function breakableConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options)
  return (to, callback) =>
    connect(to, (...[error, socket]) => {
      if (error !== null) return callback(error, null)
      if (!(socket instanceof TLSSocket)) makeBreakable(socket)
      callback(null, socket)
    })
}

function makeBreakable(socket: Socket): void {
  const destroy = socket.destroy.bind(socket)
  socket.destroy = (error) => {
    socket.destroy = destroy
    return isBreakingOff ? socket.resetAndDestroy() : destroy(error)
  }
}
