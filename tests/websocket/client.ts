/**
 * A client of Responses over WebSocket that reads each message of the server as JSON.
 */

import { once } from 'node:events'
import { type ClientOptions, WebSocket } from 'ws'

export interface TurnEvent {
  type: string
  sequence_number?: number
  stream_id?: string
  status?: number
  error?: { code: string; message: string; param?: string | null; type?: string; retry_after_ms?: number }
  headers?: Record<string, string>
  response?: { id: string; status: string; output: { type: string }[]; error?: { code: string } | null }
  delta?: string
}

export interface Closed {
  code: number
  reason: string
}

export class TurnClient implements AsyncDisposable {
  readonly socket: WebSocket
  readonly closed: Promise<Closed>
  readonly #events: TurnEvent[] = []
  #wake = () => {}

  constructor(socket: WebSocket) {
    this.socket = socket
    this.closed = new Promise((resolve) => {
      socket.on('close', (code: number, reason: Buffer) => {
        resolve({ code, reason: reason.toString() })
        this.#wake()
      })
    })
    socket.on('error', () => {})
    socket.on('message', (data: Buffer) => {
      this.#events.push(JSON.parse(data.toString()) as TurnEvent)
      this.#wake()
    })
  }

  send(message: object | string): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message))
  }

  /** The server's next message. */
  async next(): Promise<TurnEvent> {
    for (;;) {
      const event = this.#events.shift()
      if (event !== undefined) return event
      if (this.socket.readyState === WebSocket.CLOSED) throw new Error('the connection is closed')
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  /** The events of the running request, to its last one. */
  async read(): Promise<TurnEvent[]> {
    const events: TurnEvent[] = []
    for (;;) {
      const event = await this.next()
      events.push(event)
      if (this.isLast(event)) return events
    }
  }

  isLast({ type }: TurnEvent): boolean {
    return ENDS.has(type)
  }

  async turn(fields: object): Promise<TurnEvent[]> {
    this.send({ type: 'response.create', ...fields })
    return this.read()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.terminate()
    await this.closed
  }
}

const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error'])

export function socketUrl(url: string, path = '/v1/responses'): string {
  return `${url.replace(/^http/, 'ws')}${path}`
}

/** Rejects with the status of a refused upgrade. */
export async function connect(url: string, key: string, options: ClientOptions = {}): Promise<TurnClient> {
  const headers = { authorization: `Bearer ${key}`, ...options.headers }
  const socket = new WebSocket(socketUrl(url), { ...options, headers })
  await once(socket, 'open')
  return new TurnClient(socket)
}

export interface Refused {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: unknown
}

/** The response of HTTP to an upgrade that the server refuses. */
export function refusedUpgrade(url: string, options: ClientOptions = {}): Promise<Refused> {
  const socket = new WebSocket(url, options)
  socket.on('error', () => {})
  return new Promise((resolve, reject) => {
    socket.on('open', () => {
      socket.terminate()
      reject(new Error('the upgrade was not refused'))
    })
    socket.on('unexpected-response', (_request, response) => {
      let text = ''
      response.on('data', (bytes: Buffer) => (text += bytes.toString()))
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: text === '' ? null : JSON.parse(text),
        }),
      )
    })
  })
}

export function textOf(events: readonly TurnEvent[]): string {
  return events.map(({ delta = '' }) => delta).join('')
}
