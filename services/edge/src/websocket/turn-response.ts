/**
 * A message of a WebSocket as a request of HTTP, and the messages of its response.
 *
 * A turn takes the very steps of `POST /v1/responses`. So key, limits, budgets, failover, metering and errors are the same, and
 * no step knows of WebSockets. The request has the headers of its socket's upgrade and a body that is already there. The
 * response writes events as messages.
 *
 * A response of HTTP that breaks off closes its connection. Here `destroy` does the same.
 */

import { IncomingMessage, ServerResponse } from 'node:http'
import { createSseParser, type SseEvent } from '@gateway/sse/parse-events'
import { errorFrame, type Ending, frameOf, type TurnNames } from '../core/turn-frames.ts'

/** The path of every turn. */
export const RESPONSES_PATH = '/v1/responses'

/** Headers that belong to the upgrade itself, or to the body of another request. */
const OF_THE_UPGRADE = new Set([
  ...['connection', 'upgrade', 'expect', 'idempotency-key'],
  ...['content-length', 'content-encoding', 'transfer-encoding'],
])

export class TurnRequest extends IncomingMessage {
  /** Its steps read it: JSON, or the fault of a message (`side-turns.ts`). */
  body?: unknown

  constructor(upgrade: IncomingMessage, body: Buffer) {
    super(upgrade.socket)
    this.method = 'POST'
    this.url = RESPONSES_PATH
    this.httpVersion = upgrade.httpVersion
    this.httpVersionMajor = upgrade.httpVersionMajor
    this.httpVersionMinor = upgrade.httpVersionMinor
    this.rawHeaders = upgrade.rawHeaders
    const ofClient = Object.entries(upgrade.headers).filter(([name]) => !isOfTheUpgrade(name))
    this.headers = {
      ...Object.fromEntries(ofClient),
      'content-type': 'application/json',
      'content-length': String(body.length),
    }
    this.push(body)
    this.push(null)
    this.complete = true
  }

  /** All of it is there. Node's own would read from the socket. */
  override _read(): void {}
}

function isOfTheUpgrade(name: string): boolean {
  return OF_THE_UPGRADE.has(name) || name.startsWith('sec-websocket-')
}

/** Where a turn's messages go. */
export interface TurnSink {
  /** Several messages go out together. */
  together(send: () => void): void
  /** False: the client takes nothing more at the moment, and `drain` says when it does. */
  send(text: string): boolean
  /** The response's last event, before its client gets it. */
  ended(ending: Ending, data: string): void
  /** Calls back when the client's socket has taken all of it. */
  whenTaken(then: () => void): void
  /** The response broke off, so its connection has to end. */
  broken(): void
  over(): void
}

/** Headers beside an error of HTTP. */
const OF_ERRORS = ['x-request-id', 'retry-after', 'retry-after-ms', 'x-should-retry', 'www-authenticate']

export class TurnResponse extends ServerResponse {
  readonly #sink: TurnSink
  readonly #names: TurnNames
  readonly #events = createSseParser()
  #isOver = false

  constructor(request: TurnRequest, names: TurnNames, sink: TurnSink) {
    super(request)
    this.#names = names
    this.#sink = sink
  }

  /** `bytes`: complete events. */
  override write(bytes: Uint8Array | string): boolean {
    if (this.#isOver) return true
    if (!this.headersSent) this.writeHead(this.statusCode)
    return this.#send(this.#events.push(bufferOf(bytes)))
  }

  override end(last?: unknown): this {
    if (this.#isOver || this.writableEnded) return this
    const isText = typeof last === 'string' || last instanceof Uint8Array
    if (!this.headersSent) this.writeHead(this.statusCode)
    if (this.statusCode === 200) {
      if (isText && last.length > 0) this.write(last)
      this.#send(this.#events.end())
    } else {
      this.#sink.ended('failed', '')
      this.#sink.send(
        errorFrame(this.statusCode, isText ? String(last) : '', this.#headersOfError(), this.#names.streamId),
      )
    }
    // Node's own field behind `writableEnded` and `writableFinished`.
    Object.assign(this, { finished: true })
    this.#sink.whenTaken(() => this.over())
    return this
  }

  override destroy(): this {
    if (!this.#isOver) this.#sink.broken()
    this.over()
    return this
  }

  /** Its messages, a line each. */
  shownOf(event: Buffer): Buffer {
    const events = createSseParser()
    const frames = [...events.push(event), ...events.end()].map((one) => frameOf(one, this.#names))
    return Buffer.from(frames.map((frame) => (frame === null ? '' : `${frame.text}\n`)).join(''))
  }

  /** There is no socket of HTTP to flush them to. */
  override flushHeaders(): void {}

  /** Its client has it, or has left. */
  over(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.destroyed = true
    this.emit('close')
    this.#sink.over()
  }

  #send(events: readonly SseEvent[]): boolean {
    let isTaken = true
    const sendAll = () => {
      for (const event of events) {
        const frame = frameOf(event, this.#names)
        if (frame === null) continue
        if (frame.ending !== null) this.#sink.ended(frame.ending, event.data)
        isTaken = this.#sink.send(frame.text)
      }
    }
    if (events.length > 1) this.#sink.together(sendAll)
    else sendAll()
    return isTaken
  }

  #headersOfError(): Record<string, string> {
    const said = OF_ERRORS.map((name) => [name, this.getHeader(name)] as const)
    return Object.fromEntries(said.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])))
  }
}

function bufferOf(bytes: Uint8Array | string): Buffer {
  if (typeof bytes === 'string') return Buffer.from(bytes)
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
