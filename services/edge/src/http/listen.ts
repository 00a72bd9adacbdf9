/**
 * The edge's HTTP server. Its own timeouts cut slow or silent clients, so that they hold a socket and nothing else. A
 * response that is still being written ends (`close`) as soon as its client closes its side.
 *
 * Node takes one new connection from a listening socket in each turn of its event loop. A loop that is late with long turns
 * would leave new clients unheard for seconds, while it serves or refuses those with a connection. So there are many
 * listening sockets on the one port (`SO_REUSEPORT`), and as many connections are taken in a turn.
 *
 * Stopping breaks nobody's request. First the edge retires each kept connection with its next response, and then takes no new
 * one. Idle connections stay until the end, since a client may just be sending on one.
 */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createListener, Server, type AddressInfo, type Socket } from 'node:net'
import { memoryBytes } from '@gateway/service/memory'
import { atMost } from '@gateway/service/start-service'
import type { RefuseUnparsed } from './refuse-unparsed.ts'

/** Longer than the idle timeout of common load balancers (60 s), so that they, not we, close idle connections. */
const KEEP_ALIVE_MS = 65_000
const HEADERS_TIMEOUT_MS = 20_000
/** For the whole request, body included: 25 MB at a slow uplink. */
const REQUEST_TIMEOUT_MS = 120_000
/** Without a byte in either direction: longer than any request may take (600 s). A client that never reads ends here. */
const SILENCE_TIMEOUT_MS = 660_000
/** The most memory of a connection with its headers. More connections than fit into the memory are closed unheard. */
const CONNECTION_BYTES = 64 * 1024
/** Other systems than Linux share a port in other ways, or not at all. */
const LISTENERS = process.platform === 'linux' ? 64 : 1
/** For connections without a response, and for the last bytes of those that have just ended. */
const CLOSE_GRACE_MS = 1_000

interface ListeningServer {
  readonly url: string
  /** From now on every response says `connection: close`. */
  retireConnections(): void
  stopAccepting(): void
  /** Open responses have so long, and at least a second; connections without one have a second. */
  close(graceMs?: number): Promise<void>
}

/** Requests whose connection leaves HTTP. */
export interface Upgrades {
  /** False: the request is served as if it had offered no other protocol, as RFC 9110 allows. */
  takes(request: IncomingMessage): boolean
  /** `head`: the bytes behind the request. Nothing else reads the socket, or listens to it. */
  take(request: IncomingMessage, socket: Socket, head: Buffer): void
}

/** `refuse`: responds to bytes that are no request. */
export async function listen(
  app: RequestListener,
  { host, port }: { host: string; port: number },
  refuse?: RefuseUnparsed,
  upgrades?: Upgrades,
): Promise<ListeningServer> {
  let isStopping = false
  const responses = countResponses()
  const serve: RequestListener = (request, response) => {
    if (isStopping) response.setHeader('connection', 'close')
    responses.opened()
    endWithItsClient(request, response)
    app(request, response)
  }
  const server = createServer(
    {
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: 5_000,
      shouldUpgradeCallback: (request) => upgrades?.takes(request) ?? false,
    },
    serve,
  )
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    closeUnlessRead(response, () => isStopping)
    serve(request, response)
  })
  const endWithItsClient = endWithTheirClients(server, responses.ended)
  if (refuse) server.on('clientError', refuse)
  if (upgrades) server.on('upgrade', (request, _stream, head) => upgrades.take(request, request.socket, head))
  server.timeout = SILENCE_TIMEOUT_MS
  const { listeners, boundPort } = await listenManifold(server, { host, port })
  const closed = Promise.all(listeners.map((listener) => once(listener, 'close')))

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${boundPort}`,
    retireConnections() {
      isStopping = true
    },
    stopAccepting() {
      isStopping = true
      // An HTTP server's own `close` would reset idle connections, and with them the bytes on their way.
      for (const listener of listeners) Server.prototype.close.call(listener)
    },
    async close(graceMs = 0) {
      server.close()
      for (const listener of listeners) if (listener.listening) listener.close()
      await atMost(CLOSE_GRACE_MS, closed)
      // Node counts a connection that has not sent a request yet as busy.
      await atMost(Math.max(0, graceMs - CLOSE_GRACE_MS), responses.none())
      server.closeAllConnections()
      await closed
    },
  }
}

/** Counts responses that are neither written completely nor broken off. */
function countResponses() {
  let open = 0
  let noneIsLeft: (() => void) | undefined
  return {
    opened(): void {
      open++
    },
    ended(): void {
      if (--open === 0) noneIsLeft?.()
    },
    none(): Promise<void> {
      return open === 0 ? Promise.resolve() : new Promise((resolve) => (noneIsLeft = resolve))
    },
  }
}

/**
 * The reader of a body calls `writeContinue`. Where nobody does, the client may leave the body out or send it all the same.
 * The next bytes on that connection would then have two readings, so the connection closes.
 */
function closeUnlessRead(response: ServerResponse, isStopping: () => boolean): void {
  response.setHeader('connection', 'close')
  const writeContinue = response.writeContinue.bind(response)
  response.writeContinue = (callback) => {
    if (!isStopping()) response.removeHeader('connection')
    writeContinue(callback)
  }
}

async function listenManifold(
  server: Server,
  { host, port }: { host: string; port: number },
): Promise<{ listeners: Server[]; boundPort: number }> {
  const isShared = LISTENERS > 1
  // A shared port is shared with other processes, too. A process that has it already is an error, as ever.
  if (isShared && port !== 0) await probe({ host, port })
  const listenOn = async (listener: Server, onPort: number): Promise<Server> => {
    // The kernel spreads connections evenly, but for chance.
    listener.maxConnections = Math.ceil(((isShared ? 2 : 1) * memoryBytes()) / CONNECTION_BYTES / LISTENERS)
    listener.listen({ host, port: onPort, reusePort: isShared })
    await once(listener, 'listening')
    return listener
  }
  await listenOn(server, port)
  const { port: boundPort } = server.address() as AddressInfo
  const more = Array.from({ length: LISTENERS - 1 }, () => {
    // As the HTTP server makes its own.
    const listener = createListener({ allowHalfOpen: true, noDelay: true })
    listener.on('connection', (socket) => void server.emit('connection', socket))
    return listenOn(listener, boundPort)
  })
  return { listeners: [server, ...(await Promise.all(more))], boundPort }
}

async function probe(address: { host: string; port: number }): Promise<void> {
  const alone = createListener().listen(address)
  await once(alone, 'listening')
  alone.close()
  await once(alone, 'close')
}

/** A connection's responses that have not closed: one, or more where its client does not wait for them. */
const OPEN = Symbol('open responses')
type RespondingSocket = Socket & { [OPEN]: ServerResponse[] }

/**
 * A client that has closed its side gets nothing more: Node ends the socket then, behind the bytes that are already written.
 * Those may stay unsent while the system repeats them to nobody, which can take minutes. All that time the response would
 * look alive. A response that is not written completely can never be, so it ends now.
 *
 * A connection listens once for all of its requests: a listener for each took a fifth of the CPU of a refusal.
 */
function endWithTheirClients(
  server: Server,
  onEnd: () => void,
): (request: IncomingMessage, response: ServerResponse) => void {
  server.on('connection', (socket: RespondingSocket) => {
    socket[OPEN] = []
    socket.once('end', () => {
      if (socket[OPEN].some(({ writableEnded }) => !writableEnded)) socket.destroy()
    })
  })
  function closed(this: ServerResponse): void {
    const open = (this.req.socket as RespondingSocket)[OPEN]
    open.splice(open.indexOf(this), 1)
    onEnd()
  }
  return ({ socket }, response) => {
    ;(socket as RespondingSocket)[OPEN].push(response)
    response.on('close', closed)
  }
}
