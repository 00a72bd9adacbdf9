/**
 * The WebSockets of `/v1/responses` that this edge holds.
 *
 * An upgrade passes the steps of its route, so a refusal is a response of HTTP before anything is upgraded. A client has a
 * bounded number of sockets. A revoked key ends its sockets. A stopping edge lets running requests end, and then closes.
 */

import { ServerResponse, type IncomingMessage, type RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { WebSocketServer } from 'ws'
import { atMost } from '@gateway/service/start-service'
import type { ConfigSource } from '@gateway/config/config-source'
import type { ErrorLinks } from '@gateway/contracts/error-bodies'
import { GatewayError } from '@gateway/contracts/errors'
import { IDEMPOTENCY_KEY } from '@gateway/contracts/idempotency'
import { findPlan } from '@gateway/contracts/models'
import { RECEIPT_HEADER } from '@gateway/contracts/receipts'
import type { AccountCache } from '../auth/account-cache.ts'
import type { ProvenCaller } from '../auth/authenticate.ts'
import { invalidKey } from '../auth/authenticate.ts'
import { rateLimited } from '../core/rate-limited.ts'
import { isPageAllowed } from '../http/allow-browsers.ts'
import type { ClientNetwork } from '../http/client-network.ts'
import type { Upgrades } from '../http/listen.ts'
import { type BytesInFlight, LARGEST_BODY_BYTES, reservationOf } from '../http/memory-budget.ts'
import { offersWebSocket } from '../http/refuse-by-form.ts'
import { measuredOf, type StepResponse } from '../http/take-steps.ts'
import { readWantsReceipt } from '../receipts/wanted-receipt.ts'
import { ResponseSocket, type TurnListeners } from './response-socket.ts'
import { RESPONSES_PATH } from './turn-response.ts'

/** A socket at rest costs as much as a connection of HTTP. The byte budget bounds its kept conversations. */
const MOST_OF_ACCOUNT = 1_024
const MOST_OF_GUESTS = 32
const RETRY_AFTER_MS = 1_000
/** Below the idle timeouts of common proxies (60 s), so that they see life. */
const CHECK_EVERY_MS = 30_000

export interface ResponseSockets extends Disposable {
  readonly count: number
  /** Makes the request's connection a WebSocket, or throws the refusal. */
  accept(request: IncomingMessage, response: StepResponse, caller: ProvenCaller): void
  /** `app` has the route that accepts them. */
  upgradesTo(app: RequestListener, listeners: TurnListeners): Upgrades
  cutKey(keyHash: string): void
  /** No request begins from now on. Resolves when the running ones have ended, or after `graceMs` without them. */
  stop(graceMs: number): Promise<void>
}

interface SocketsContext {
  bytes: BytesInFlight
  config: ConfigSource
  plans: Pick<AccountCache, 'isDeadKey'>
  clientNetwork: ClientNetwork
  settings: ErrorLinks & { corsOrigins: string[] }
}

export function openResponseSockets(edge: SocketsContext): ResponseSockets {
  const server = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload: LARGEST_BODY_BYTES })
  /** Requests whose connections are the edge's to upgrade. */
  const upgrading = new WeakSet<IncomingMessage>()
  const sockets = new Set<ResponseSocket>()
  const bySender = new Map<string, number>()
  let listeners: TurnListeners | null = null
  let isStopping = false
  let onIdle = (): void => {}

  const checking = setInterval(() => {
    const nowMs = performance.now()
    for (const socket of sockets) socket.check(nowMs)
  }, CHECK_EVERY_MS).unref()

  function take(sender: string, most: number): void {
    const count = bySender.get(sender) ?? 0
    if (count >= most) throw rateLimited('requests', RETRY_AFTER_MS)
    bySender.set(sender, count + 1)
  }

  function give(sender: string): void {
    const left = (bySender.get(sender) ?? 0) - 1
    if (left > 0) bySender.set(sender, left)
    else bySender.delete(sender)
  }

  function refuse(request: IncomingMessage, { keyHash }: ProvenCaller): void {
    if (isStopping) throw new GatewayError('SERVICE_UNAVAILABLE', 'This edge stops; connect again', { retryAfterMs: 0 })
    if (!isPageAllowed(edge.settings.corsOrigins, request.headers)) {
      const sentence = `Pages of ${request.headers.origin} may not call this gateway; CORS_ORIGINS names those that may`
      throw new GatewayError('FORBIDDEN', sentence)
    }
    if (request.headers[IDEMPOTENCY_KEY.toLowerCase()] !== undefined) {
      const sentence = `${IDEMPOTENCY_KEY}: names one request, and a connection has many; leave it out`
      throw new GatewayError('VALIDATION_ERROR', sentence)
    }
    refuseOtherVersions(request)
    readWantsReceipt(request.headers[RECEIPT_HEADER] as string | undefined)
    // It died while it was proven.
    if (edge.plans.isDeadKey(keyHash)) throw invalidKey()
  }

  return {
    get count() {
      return sockets.size
    },
    accept(request, response, caller) {
      if (!upgrading.delete(request)) throw upgradeRequired()
      refuse(request, caller)
      const { sender, cpu } = reservationOf(response)!
      const { guest } = findPlan(edge.config.current, caller.plan)
      take(sender, guest ? MOST_OF_GUESTS : MOST_OF_ACCOUNT)
      const { socket } = request
      measuredOf(response).span.end()
      response.detachSocket(socket)
      const memory = edge.bytes.reserveResponse(guest ? edge.clientNetwork(request) : caller.account)
      let isOpen = false
      const onClose = (closed: ResponseSocket) => {
        give(sender)
        sockets.delete(closed)
        if (sockets.size === 0) onIdle()
      }
      server.handleUpgrade(request, socket, NOTHING, (webSocket) => {
        isOpen = true
        const parts = { listeners: listeners!, memory, cpu, links: edge.settings, onClose }
        sockets.add(new ResponseSocket(webSocket, request, caller.keyHash, parts))
      })
      // Its client has left, or has sent a key that is none.
      if (!isOpen) give(sender)
    },
    upgradesTo(app, turnListeners) {
      listeners = turnListeners
      return {
        takes: isForResponses,
        take(request, socket, head) {
          upgrading.add(request)
          serveUpgrade(app, request, socket, head)
        },
      }
    },
    cutKey(keyHash) {
      for (const socket of [...sockets]) if (socket.keyHash === keyHash) socket.revoke()
    },
    async stop(graceMs) {
      isStopping = true
      for (const socket of [...sockets]) socket.stop()
      if (sockets.size > 0) await atMost(graceMs, new Promise<void>((idle) => (onIdle = idle)))
      for (const socket of [...sockets]) socket.terminate()
    },
    [Symbol.dispose]() {
      clearInterval(checking)
      for (const socket of [...sockets]) socket.terminate()
    },
  }
}

const NOTHING = Buffer.alloc(0)

/** With a body of its own the request would have two readings. */
function isForResponses(request: IncomingMessage): boolean {
  const { method, url = '', headers } = request
  const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
  return method === 'GET' && !hasBody && url.split('?', 1)[0] === RESPONSES_PATH && offersWebSocket(headers)
}

/** A response of HTTP on the upgrade's own connection, which ends behind it. */
function serveUpgrade(app: RequestListener, request: IncomingMessage, socket: Socket, head: Buffer): void {
  // Its client has left.
  socket.on('error', () => socket.destroy())
  // A response to an earlier request is still on its way there, which RFC 9110 forbids the client.
  if ((socket as Socket & { _httpMessage?: unknown })._httpMessage) return void socket.destroy()
  if (head.length > 0) socket.unshift(head)
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once('finish', () => socket.destroySoon())
  app(request, response)
}

function upgradeRequired(): GatewayError {
  const sentence = `${RESPONSES_PATH}: is a WebSocket for GET; send Upgrade: websocket, or POST over HTTP`
  return new GatewayError('UPGRADE_REQUIRED', sentence, { upgrade: 'websocket' })
}

/** RFC 6455, section 4.1. */
const VERSION = '13'
const KEY = /^[+/0-9A-Za-z]{22}==$/

function refuseOtherVersions({ headers }: IncomingMessage): void {
  if (headers['sec-websocket-version'] !== VERSION) {
    const sentence = `sec-websocket-version: must be ${VERSION}`
    throw new GatewayError('UPGRADE_REQUIRED', sentence, { upgrade: 'websocket' })
  }
  if (!KEY.test(headers['sec-websocket-key'] ?? '')) {
    throw new GatewayError('VALIDATION_ERROR', 'sec-websocket-key: must be 16 bytes in base64')
  }
}
