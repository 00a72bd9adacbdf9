/**
 * One backend over HTTP: a pool of kept-alive connections and, per call, an exchange whose response is read in pieces.
 *
 * Every wait is bounded (connecting, first byte, silence between pieces, and the attempt's whole budget) and ends in a
 * {@link BackendFault}. The client reads nothing ahead beyond a small buffer, so a slow reader slows the backend.
 * Aborting closes the socket; an exchange is over when `closed` resolves.
 */

import type { BackendConfig } from '@gateway/contracts/config'
import type { Dispatcher } from 'undici'
import type { Credential } from '../credentials/credential.ts'
import { NO_TIMEOUTS, type TimeoutPolicy } from '../core/attempts.ts'
import { BackendFault } from '../core/backend-fault.ts'
import type { Probed } from '../core/backend-health.ts'
import type { Connections } from './connections.ts'
import { Exchange } from './exchange.ts'
import { shortageIn } from './network-errors.ts'

export interface BackendCall {
  path: string
  /** The credential, and the headers that the dialect and the config demand. */
  headers: Record<string, string>
  body: Buffer
  accept: string
  requestId: string
  /** W3C trace context, where traces are on. */
  traceparent?: string | undefined
  /** Bounds the whole exchange; see {@link Exchange.begin}. */
  budgetMs: number
  timeoutPolicy: TimeoutPolicy
}

export interface BackendClient {
  /** Starts a call; its outcome is read from the exchange. */
  call(call: BackendCall): Exchange
  /** Reads an address of the backend's own origin, for images that it returns as addresses. */
  fetchOwn(url: URL, budgetMs: number): Exchange
  /** Finds out whether the backend responds, with a call of its own. */
  probe(): Promise<Probed>
  readonly origin: string
  /** Finishes open calls, then closes the connections. */
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

export function openBackend(
  config: BackendConfig,
  headers: Record<string, string>,
  connections: Connections,
  credential: Credential | null = null,
): BackendClient {
  const base = new URL(config.url)
  const pathPrefix = base.pathname.replace(/(?<!\/)\/+$/, '')
  const { timeouts } = config
  /** Calls that wait for a credential. */
  const unsent = new Set<Promise<void>>()
  const common = { ...OF_EVERY_CALL, ...headers }

  function start(request: Request, budgetMs: number, timeoutPolicy = NO_TIMEOUTS): Exchange {
    const exchange = new Exchange(timeouts, budgetMs, timeoutPolicy)
    if (credential) startAuthorized(credential, request, exchange)
    else connections.dispatch(request, exchange)
    return exchange
  }

  function startAuthorized(credential: Credential, request: Request, exchange: Exchange): void {
    const again = () => authorize(credential, request, exchange, (authorized) => dispatch(authorized, exchange))
    authorize(credential, request, exchange, (authorized) => {
      dispatch(
        authorized,
        firstTry(exchange, () => credential.renew(authorized.headers), again),
      )
    })
  }

  /** Waiting for the credential is part of connecting, and its failure is the backend's. */
  function authorize(
    credential: Credential,
    request: Request,
    exchange: Exchange,
    send: (request: Request) => void,
  ): void {
    const { method, path, headers, body = null } = request
    const authorizing = credential.authorize({ method, url: new URL(path, base.origin), headers, body })
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
      // A credential may permit generation and not the list of models.
      return status < 500 ? 'alive' : 'failing'
    } catch (fault) {
      return fault instanceof BackendFault && fault.kind === 'shortage' ? 'unasked' : 'dead'
    }
  }

  return {
    origin: base.origin,
    call: ({ path, headers: ofCall, body, accept, requestId, traceparent, budgetMs, timeoutPolicy }) =>
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
        timeoutPolicy,
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

const REFUSED = new Set([401, 403])

/**
 * Hands a call's response on to its exchange. When a response refuses the credential and another credential exists, the
 * router drops that response. Then it calls again with the other credential, and the exchange gets the second response.
 */
function firstTry(exchange: Exchange, renews: () => boolean, again: () => void): Dispatcher.DispatchHandler {
  let isDropped = false
  return {
    onRequestStart: (controller) => exchange.onRequestStart(controller),
    onResponseStart(controller, status, headers) {
      if (REFUSED.has(status)) isDropped = renews()
      if (!isDropped) exchange.onResponseStart(controller, status, headers)
    },
    onResponseData(controller, chunk) {
      if (!isDropped) exchange.onResponseData(controller, chunk)
    },
    onResponseEnd() {
      if (isDropped) again()
      else exchange.onResponseEnd()
    },
    onResponseError: (controller, error) => exchange.onResponseError(controller, error),
  }
}
