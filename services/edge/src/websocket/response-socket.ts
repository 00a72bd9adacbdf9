/**
 * One WebSocket of `/v1/responses`. Its messages are requests that run one after another, in the order in which they came.
 *
 * Bytes that wait here count as the account's memory: a message that is not complete, messages behind the running one, and
 * the kept conversations. A client that reads slowly slows its own backend, as over HTTP. A client that leaves cancels the
 * running request. Messages that need no response wait for their sender's share of the event loop's time, as requests do.
 *
 * A socket ends after its running request, never within it, unless its memory or its client is lost.
 */

import type { IncomingMessage, RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import type { ErrorLinks } from '@gateway/contracts/error-bodies'
import { ERROR_STATUS, GatewayError } from '@gateway/contracts/errors'
import { renderError } from '@gateway/contracts/render-error'
import { errorFrame, type Ending } from '../core/turn-frames.ts'
import { composeBody, continued, type Items, readMessage, turnFault, type TurnMessage } from '../core/turn-message.ts'
import type { CpuAccount } from '../http/cpu-account.ts'
import { type ResponseReservation, SPARED_BYTES } from '../http/memory-budget.ts'
import { KeptResponses, MOST_NAMED_STREAMS } from './kept-responses.ts'
import { TurnRequest, TurnResponse, type TurnSink } from './turn-response.ts'

/** Each serves one kind of message. */
export interface TurnListeners {
  create: RequestListener
  warmUp: RequestListener
  /** Responds with the error that is the request's body. */
  refuse: RequestListener
}

export interface SocketParts {
  listeners: TurnListeners
  /** Of the account, or of the guest's network. */
  memory: ResponseReservation
  cpu: CpuAccount
  links: ErrorLinks
  onClose(socket: ResponseSocket): void
}

/** Beyond it the edge reads no more messages of the client until one has run. */
const MOST_WAITING = 16
const LONGEST_MS = 60 * 60_000
/** A conversation that rests for longer begins again on another socket. */
const LONGEST_IDLE_MS = 15 * 60_000
/** A client that neither sends nor takes a byte, and no pong either. A slow one reads a ping behind megabytes of its response. */
const LONGEST_SILENCE_MS = 300_000
/** The client has so long for its part of the farewell. */
const FAREWELL_MS = 2_000

/** Codes of RFC 6455 for the end of a connection. */
const CLOSE = { normal: 1000, goingAway: 1001, refused: 1008, overloaded: 1013 } as const

interface Farewell {
  code: number
  reason: string
  error?: GatewayError
}

export class ResponseSocket {
  readonly keyHash: string
  readonly #webSocket: WebSocket
  readonly #upgrade: IncomingMessage
  readonly #socket: Socket
  readonly #parts: SocketParts
  readonly #kept: KeptResponses
  readonly #openedAtMs = performance.now()
  #lifeSeenAtMs = this.#openedAtMs
  #usedAtMs = this.#openedAtMs
  #waiting: Buffer[] = []
  #turn: TurnResponse | null = null
  /** Set: no request begins any more. */
  #farewell: Farewell | null = null
  /** Bytes since the last complete message. */
  #incomingBytes = 0
  #heldBytes = 0
  #isBroken = false
  /** Set: its sender has taken more than its share, so nothing more is read meanwhile. */
  #rest: NodeJS.Timeout | null = null

  constructor(webSocket: WebSocket, upgrade: IncomingMessage, keyHash: string, parts: SocketParts) {
    this.keyHash = keyHash
    this.#webSocket = webSocket
    this.#upgrade = upgrade
    this.#socket = upgrade.socket
    this.#parts = parts
    this.#kept = new KeptResponses(parts.memory)
    // Before the library's own listener, which may complete a message with these bytes.
    this.#socket.prependListener('data', (bytes: Buffer) => this.#count(bytes.length))
    this.#socket.on('drain', () => this.#drained())
    webSocket.on('message', (data, isBinary) => this.#receive(data as Buffer, isBinary))
    for (const frame of ['ping', 'pong'] as const) {
      webSocket.on(frame, (data) => {
        this.#uncount(data.length)
        this.#restOverShare()
      })
    }
    // The library closes it with the code of the fault: a frame of the wrong form, or a message that is too long.
    webSocket.on('error', () => this.#fail())
    webSocket.on('close', () => this.#closed())
  }

  /** Its key is dead: the running request has been cut, or will be. */
  revoke(): void {
    const error = new GatewayError('INVALID_KEY', 'Invalid key')
    this.#leave({ code: CLOSE.refused, reason: 'INVALID_KEY', error })
    this.#terminateSoon()
  }

  /** The edge stops: the running request ends, and no other begins. */
  stop(): void {
    this.#leave({ code: CLOSE.goingAway, reason: 'The gateway restarts; open a new WebSocket connection' })
  }

  terminate(): void {
    this.#webSocket.terminate()
  }

  /** Called every half a minute. */
  check(nowMs: number): void {
    if (nowMs - this.#openedAtMs >= LONGEST_MS) return this.#leave(connectionLimit())
    if (this.#turn === null && nowMs - this.#usedAtMs >= LONGEST_IDLE_MS) {
      return this.#leave({ code: CLOSE.normal, reason: 'No request for 15 minutes' })
    }
    // Nothing is read of it meanwhile.
    if (this.#webSocket.isPaused) this.#lifeSeenAtMs = nowMs
    if (nowMs - this.#lifeSeenAtMs >= LONGEST_SILENCE_MS) return this.#webSocket.terminate()
    if (this.#webSocket.readyState === this.#webSocket.OPEN) this.#webSocket.ping()
  }

  #count(bytes: number): void {
    this.#lifeSeenAtMs = performance.now()
    // The library drops them.
    if (this.#isBroken) return
    this.#incomingBytes += bytes
    if (this.#incomingBytes <= SPARED_BYTES) return
    const more = this.#incomingBytes - this.#heldBytes
    this.#heldBytes += more
    if (!this.#parts.memory.reserve(more)) this.#breakOff()
  }

  /** A frame of the protocol itself is no part of a message. */
  #uncount(payloadBytes: number): void {
    this.#incomingBytes = Math.max(0, this.#incomingBytes - payloadBytes - FRAME_BYTES)
  }

  #restOverShare(): void {
    const waitMs = this.#parts.cpu.chargeMessage()
    if (waitMs === 0 || this.#rest !== null) return
    this.#webSocket.pause()
    this.#rest = setTimeout(() => {
      this.#rest = null
      if (!this.#isBroken && this.#waiting.length < MOST_WAITING) this.#webSocket.resume()
      this.#next()
    }, waitMs).unref()
  }

  /** There is no memory for its bytes. */
  #breakOff(): void {
    this.#webSocket.close(CLOSE.overloaded, 'The gateway has no room for this message; try again shortly')
    this.#webSocket.pause()
    this.#fail()
  }

  #fail(): void {
    this.#isBroken = true
    this.#terminateSoon()
  }

  #terminateSoon(): void {
    setTimeout(() => this.#webSocket.terminate(), FAREWELL_MS).unref()
  }

  #receive(message: Buffer, isBinary: boolean): void {
    this.#parts.memory.release(this.#heldBytes)
    this.#heldBytes = 0
    this.#incomingBytes = 0
    if (this.#farewell !== null && this.#turn === null) return
    const waiting = isBinary ? BINARY : message
    if (!this.#parts.memory.reserve(memoryOf(waiting))) {
      this.#parts.memory.release(memoryOf(waiting))
      return this.#breakOff()
    }
    this.#waiting.push(waiting)
    if (this.#waiting.length >= MOST_WAITING) this.#webSocket.pause()
    this.#next()
  }

  #next(): void {
    while (this.#turn === null && this.#rest === null && this.#webSocket.readyState === this.#webSocket.OPEN) {
      if (this.#farewell !== null) return this.#close(this.#farewell)
      const message = this.#waiting.shift()
      if (message === undefined) return
      // One piece of the socket's bytes may have had thousands.
      if (this.#webSocket.isPaused && this.#waiting.length < MOST_WAITING) this.#webSocket.resume()
      this.#parts.memory.release(memoryOf(message))
      this.#begin(message)
    }
  }

  #begin(bytes: Buffer): void {
    if (bytes === BINARY) return this.#refuse(turnFault('invalid_request_error', null, 'Send a message as text'))
    const message = this.#parts.cpu.measure(() => readMessage(bytes))
    switch (message.kind) {
      case 'ignored':
        return this.#restOverShare()
      case 'unread':
        return this.#run(this.#parts.listeners.create, new TurnRequest(this.#upgrade, bytes), undefined, null)
      case 'fault':
        return this.#refuse(message.error, message.streamId)
      case 'create':
        return this.#create(message)
    }
  }

  #create(message: TurnMessage): void {
    const { streamId, previousId, generates } = message
    if (!this.#kept.admits(streamId)) return this.#refuse(tooManyStreams(), streamId)
    const before = previousId === null ? [] : this.#kept.find(previousId)
    if (before === null) return this.#refuse(notFound(previousId!), streamId)
    const { body, items } = this.#parts.cpu.measure(() => composeBody(message, before))
    const { create, warmUp } = this.#parts.listeners
    const request = new TurnRequest(this.#upgrade, body)
    this.#run(generates ? create : warmUp, request, streamId, { previousId, items })
  }

  #refuse(error: GatewayError, streamId?: string): void {
    const request = new TurnRequest(this.#upgrade, NOTHING)
    request.body = error
    this.#run(this.#parts.listeners.refuse, request, streamId, null)
  }

  #run(
    listener: RequestListener,
    request: TurnRequest,
    streamId: string | undefined,
    conversation: { previousId: string | null; items: Items } | null,
  ): void {
    const ended = (ending: Ending, data: string) => {
      if (conversation === null) return
      const { previousId, items } = conversation
      if (ending === 'failed') return previousId === null ? undefined : this.#kept.forget(previousId)
      const next = continued(Buffer.from(data), items)
      if (next !== null) this.#kept.keep(streamId, next)
    }
    const names = { streamId, previousId: conversation?.previousId }
    const response: TurnResponse = new TurnResponse(
      request,
      names,
      this.#sinkOf(ended, () => this.#turnOver()),
    )
    this.#turn = response
    listener(request, response)
  }

  #sinkOf(ended: TurnSink['ended'], over: () => void): TurnSink {
    const [webSocket, socket] = [this.#webSocket, this.#socket]
    return {
      together(send) {
        socket.cork()
        send()
        socket.uncork()
      },
      send(text) {
        webSocket.send(text)
        return !socket.writableNeedDrain
      },
      ended,
      whenTaken(then) {
        if (socket.writableNeedDrain) socket.once('drain', then)
        else then()
      },
      broken: () => webSocket.terminate(),
      over,
    }
  }

  #turnOver(): void {
    this.#turn = null
    this.#usedAtMs = performance.now()
    // The steps of the ended request have their own part of its end first.
    setImmediate(() => this.#next())
  }

  #drained(): void {
    this.#lifeSeenAtMs = performance.now()
    this.#turn?.emit('drain')
  }

  #leave(farewell: Farewell): void {
    if (this.#farewell !== null) return
    this.#farewell = farewell
    if (this.#turn === null) this.#close(farewell)
  }

  #close({ code, reason, error }: Farewell): void {
    const waited = error ?? new GatewayError('SERVICE_UNAVAILABLE', reason, { retryAfterMs: 0 })
    const refusals = error === undefined ? this.#waiting.length : Math.max(1, this.#waiting.length)
    for (let count = 0; count < refusals; count++) this.#webSocket.send(this.#errorOf(waited))
    this.#dropWaiting()
    this.#webSocket.close(code, reason)
    this.#terminateSoon()
  }

  #errorOf(error: GatewayError): string {
    const { body } = renderError(error, this.#parts.links, { dialect: 'responses' })
    return errorFrame(ERROR_STATUS[error.code], body, {})
  }

  #dropWaiting(): void {
    for (const message of this.#waiting) this.#parts.memory.release(memoryOf(message))
    this.#waiting = []
  }

  #closed(): void {
    this.#farewell ??= { code: CLOSE.normal, reason: '' }
    clearTimeout(this.#rest ?? undefined)
    this.#dropWaiting()
    this.#parts.memory.release(this.#heldBytes)
    this.#heldBytes = 0
    this.#kept.clear()
    this.#turn?.over()
    this.#parts.onClose(this)
  }
}

const NOTHING = Buffer.alloc(0)
/** Stands in for a message that is no text. */
const BINARY = Buffer.alloc(0)
/** Of a message that waits, beside its bytes. */
const OBJECT_BYTES = 128

function memoryOf({ length }: Buffer): number {
  return length + OBJECT_BYTES
}

/** The head of a client's frame, with its mask. */
const FRAME_BYTES = 6

function notFound(id: string): GatewayError {
  const message = `Previous response with id '${id.slice(0, 100)}' not found.`
  return turnFault('previous_response_not_found', 'previous_response_id', message)
}

function tooManyStreams(): GatewayError {
  const message = `This connection has used ${MOST_NAMED_STREAMS} stream ids; use one of them again, or open another connection`
  return turnFault('websocket_stream_limit_reached', 'stream_id', message)
}

function connectionLimit(): Farewell {
  const message = 'A connection lasts for 60 minutes; open a new WebSocket connection to continue'
  const error = turnFault('websocket_connection_limit_reached', null, message)
  return { code: CLOSE.normal, reason: 'websocket_connection_limit_reached', error }
}
