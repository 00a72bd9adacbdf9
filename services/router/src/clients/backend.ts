/**
 * One backend over HTTP: a pool of kept-alive connections and, per call, an exchange whose answer is read in pieces.
 *
 * Every wait is bounded (connecting, first byte, silence between pieces, and the attempt's whole budget) and ends in a
 * {@link BackendFault}. Nothing is read ahead beyond a small buffer, so a slow reader slows the backend. Aborting closes the socket; an exchange is over when `closed` resolves.
 */

import type { BackendConfig } from '@gateway/contracts/config'
import { Pool, ProxyAgent, type Dispatcher } from 'undici'
import type { Credential } from '../credentials/credential.ts'
import { NO_PATIENCE, type Patience } from '../core/attempt-patience.ts'
import { BackendFault } from '../core/backend-fault.ts'
import type { Probed } from '../core/backend-health.ts'
import { breakableConnector } from './break-off.ts'
import { Exchange } from './exchange.ts'
import { shortageIn } from './network-errors.ts'
import { FirstTry } from './first-try.ts'
import type { ProxyFor } from './proxies.ts'

export interface BackendCall {
  path: string
  /** The credential, and whatever the dialect and the config demand. */
  headers: Record<string, string>
  body: Buffer
  accept: string
  requestId: string
  /** W3C trace context, where traces are on. */
  traceparent?: string | undefined
  /** Bounds the whole exchange; see {@link Exchange.begin}. */
  budgetMs: number
  patience: Patience
}

export interface BackendClient {
  /** Starts a call; its outcome is read from the exchange. */
  call(call: BackendCall): Exchange
  /** Reads an address of the backend's own origin, for images that it answers as addresses. */
  fetchOwn(url: URL, budgetMs: number): Exchange
  /** Whether the backend answers. */
  probe(): Promise<Probed>
  readonly origin: string
  /** Finishes what runs, then closes the connections. */
  close(): Promise<void>
}

const PROBE_TIMEOUT_MS = 5_000
const OF_EVERY_CALL = { 'accept-encoding': 'identity', 'user-agent': 'model-gateway' }

interface Request {
  method: 'GET' | 'POST'
  path: string
  headers: Record<string, string>
  body?: Buffer
}

/** The connections to a backend. */
export type Connections = Pick<Dispatcher, 'dispatch'> & { close(): Promise<void> }

/**
 * A connection lives so long. Then the next call opens another, which may lead to another address of the same name: servers
 * that were added behind it get their part of the load, and those that were taken away none.
 */
const LIFE_MS = 60_000

export function openConnections(config: BackendConfig, proxyFor: ProxyFor = () => null, lifeMs = LIFE_MS): Connections {
  const { url, maxConcurrent, timeouts } = config
  const proxy = proxyFor(new URL(url))
  // One more for probes: a backend whose places are all taken is not dead.
  const options = { connections: maxConcurrent + 1, pipelining: 1, clientTtl: lifeMs, ...UNTIMED }
  if (proxy !== null) return connectionsThrough(proxy, config, options)
  const connect = breakableConnector({ allowH2: false, timeout: timeouts.connectMs })
  return new Pool(new URL(url).origin, { ...options, connect })
}

/** The exchange keeps time itself, to the millisecond and not while its reader is slow. */
const UNTIMED = { headersTimeout: 0, bodyTimeout: 0 }

/** A proxy that does not answer in time is a connection that is not to be had. */
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

export function openBackend(
  config: BackendConfig,
  headers: Record<string, string>,
  connections: Connections,
  credential: Credential | null = null,
): BackendClient {
  const base = new URL(config.url)
  const pathPrefix = base.pathname.replace(/\/+$/, '')
  const { timeouts } = config
  /** Calls that wait for a credential. */
  const unsent = new Set<Promise<void>>()
  const common = { ...OF_EVERY_CALL, ...headers }

  function start(request: Request, budgetMs: number, patience = NO_PATIENCE): Exchange {
    const exchange = new Exchange(timeouts, budgetMs, patience)
    if (credential) startAuthorized(credential, request, exchange)
    else connections.dispatch(request, exchange)
    return exchange
  }

  function startAuthorized(asked: Credential, request: Request, exchange: Exchange): void {
    const again = () => authorize(asked, request, exchange, (authorized) => dispatch(authorized, exchange))
    authorize(asked, request, exchange, (authorized) => {
      dispatch(authorized, new FirstTry(exchange, () => asked.renew(authorized.headers), again))
    })
  }

  /** Waiting for the credential is part of connecting, and its failure is the backend's. */
  function authorize(asked: Credential, request: Request, exchange: Exchange, send: (request: Request) => void): void {
    const { method, path, headers, body = null } = request
    const authorizing = asked.authorize({ method, url: new URL(path, base.origin), headers, body })
    // The exchange may fail meanwhile: its time is over, or nobody wants it any more.
    const sending = Promise.race([authorizing, exchange.response.then(() => headers)])
      .then((authorized) => send({ ...request, headers: { ...headers, ...authorized } }))
      .catch((cause: unknown) => {
        const message = 'no credential for the backend is to be had'
        exchange.refuse(shortageIn(cause) ?? new BackendFault('connect', message, { account: 'credential', cause }))
      })
      .finally(() => unsent.delete(sending))
    unsent.add(sending)
  }

  const dispatch = (request: Request, handler: Dispatcher.DispatchHandler) => connections.dispatch(request, handler)

  async function probe(): Promise<Probed> {
    const path = `${pathPrefix}/models${base.search}`
    const exchange = start(
      { method: 'GET', path, headers: { ...common, accept: 'application/json' } },
      PROBE_TIMEOUT_MS,
    )
    try {
      const { status } = await exchange.response
      exchange.discard()
      // A credential may be good for answers and not for the list of models.
      return status < 500 ? 'alive' : 'failing'
    } catch (fault) {
      return fault instanceof BackendFault && fault.kind === 'shortage' ? 'unasked' : 'dead'
    }
  }

  return {
    origin: base.origin,
    call: ({ path, headers: ofCall, body, accept, requestId, traceparent, budgetMs, patience }) =>
      start(
        {
          method: 'POST',
          path: pathPrefix + path + base.search,
          headers: {
            ...OF_EVERY_CALL,
            ...ofCall,
            accept,
            'content-type': 'application/json',
            'x-request-id': requestId,
            ...(traceparent === undefined ? null : { traceparent }),
          },
          body,
        },
        budgetMs,
        patience,
      ),
    fetchOwn: (url, budgetMs) =>
      start({ method: 'GET', path: url.pathname + url.search, headers: { ...common, accept: 'image/png' } }, budgetMs),
    probe,
    async close() {
      await Promise.all(unsent)
      await connections.close()
    },
  }
}
