/**
 * The edge's HTTP server. Slow or silent clients are cut by the server's own timeouts, so that they hold a socket and
 * nothing else; an answer that is still being written ends (`close`) as soon as its client closes its side.
 *
 * Stopping breaks nobody's request: first each kept connection is retired with its next answer, then no new one is taken,
 * and those that are idle stay until the end, since a client may just be sending on one.
 */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { Server, type AddressInfo } from 'node:net'
import { memoryBytes } from './bytes-in-flight.ts'

/** Longer than the idle timeout of common load balancers (60 s), so that they, not we, close idle connections. */
const KEEP_ALIVE_MS = 65_000
const HEADERS_TIMEOUT_MS = 20_000
/** For the whole request, body included: 25 MB at a slow uplink. */
const REQUEST_TIMEOUT_MS = 120_000
/** Without a byte in either direction: longer than any request may take (600 s). A client that never reads ends here. */
const SILENCE_TIMEOUT_MS = 660_000
/** What a connection with its headers may take. More connections than fit into the memory are closed unheard. */
const CONNECTION_BYTES = 64 * 1024
/** Open answers were given their time before; what is left now is closed. */
const CLOSE_GRACE_MS = 1_000

export interface ListeningServer {
  readonly url: string
  /** From now on every answer says `connection: close`. */
  retireConnections(): void
  stopAccepting(): void
  close(): Promise<void>
}

export async function listen(
  app: RequestListener,
  { host, port }: { host: string; port: number },
): Promise<ListeningServer> {
  let isStopping = false
  const serve: RequestListener = (request, response) => {
    if (isStopping) response.setHeader('connection', 'close')
    endWithItsClient(request, response)
    app(request, response)
  }
  const server = createServer(
    {
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: 5_000,
    },
    serve,
  )
  // Whoever reads the body says that it is wanted.
  server.on('checkContinue', serve)
  server.timeout = SILENCE_TIMEOUT_MS
  server.maxConnections = Math.floor(memoryBytes() / CONNECTION_BYTES)
  server.listen(port, host)
  await once(server, 'listening')
  const { port: boundPort } = server.address() as AddressInfo
  const closed = once(server, 'close')

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${boundPort}`,
    retireConnections() {
      isStopping = true
    },
    stopAccepting() {
      isStopping = true
      // An HTTP server's own `close` would reset idle connections, and with them what is on its way on them.
      Server.prototype.close.call(server)
    },
    async close() {
      const timer = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS)
      server.close()
      await closed
      clearTimeout(timer)
    },
  }
}

/**
 * A client that has closed its side gets nothing more: Node ends the socket then, behind what is already written. Those
 * bytes may stay unsent for as long as the system repeats them to nobody, which can be minutes, and all that time the
 * response would look alive. One that is not written whole can never be, so it ends now.
 */
function endWithItsClient({ socket }: IncomingMessage, response: ServerResponse): void {
  const clientLeft = () => {
    if (!response.writableEnded) socket.destroy()
  }
  socket.once('end', clientLeft)
  response.once('close', () => socket.off('end', clientLeft))
}
