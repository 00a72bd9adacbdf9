/**
 * HTTP as bytes on a socket: for requests that no client library would send.
 */

import { connect, type Socket } from 'node:net'

export interface RawResponse {
  /** In order; a complete one has all of its body. */
  responses: { status: number; headers: Record<string, string>; body: string }[]
  /** The other side has ended the connection. */
  closed: boolean
  text: string
}

/** Sends the bytes and gathers the response until the connection ends, or for so long. */
export function sendBytes(port: number, bytes: string | Buffer, forMs = 1_000): Promise<RawResponse> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const socket = connect(port, '127.0.0.1')
    const finish = (closed: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      const text = Buffer.concat(chunks).toString('latin1')
      resolve({ responses: parseResponses(text), closed, text })
    }
    const timer = setTimeout(() => finish(false), forMs)
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    // A reset is an end, too.
    socket.on('error', () => finish(true))
    socket.on('close', () => finish(true))
    socket.write(Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes, 'latin1'))
  })
}

function parseResponses(text: string): RawResponse['responses'] {
  const responses: RawResponse['responses'] = []
  let at = 0
  for (;;) {
    const head = /^HTTP\/1\.1 (\d{3})[^\r]*\r\n((?:[^\r\n]+\r\n)*)\r\n/.exec(text.slice(at))
    if (!head) return responses
    const lines = head[2]!.split('\r\n').filter(Boolean)
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    at += head[0].length
    const length = Number(headers['content-length'] ?? 0)
    responses.push({ status: Number(head[1]), headers, body: text.slice(at, at + length) })
    at += length
  }
}

/** Sockets that are held open for as long as the other side lets them. */
export interface Crowd extends AsyncDisposable {
  /** The number of connections that are still open. */
  readonly alive: number
  /** The longest lifetime of a connection. */
  readonly longestMs: number
}

/** Opens them and drives each by its plan: `plan.every` is called every `everyMs`. */
export async function openCrowd(
  port: number,
  count: number,
  plan: { first?: string; every?: (turn: number) => string; everyMs?: number; read?: boolean },
): Promise<Crowd> {
  const { first = '', every, everyMs = 1_000, read = true } = plan
  const sockets = new Set<Socket>()
  const openedAtMs = performance.now()
  let lastEndMs = 0
  const ended = (socket: Socket) => {
    if (sockets.delete(socket)) lastEndMs = performance.now() - openedAtMs
  }
  await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => ended(socket))
      socket.on('close', () => ended(socket))
      await new Promise((resolve) => socket.once('connect', resolve))
      if (read) socket.resume()
      else socket.pause()
      if (first !== '') socket.write(first)
      sockets.add(socket)
    }),
  )
  let turn = 0
  const timer = setInterval(() => {
    if (every) for (const socket of sockets) socket.write(every(turn))
    turn++
  }, everyMs)
  return {
    get alive() {
      return sockets.size
    },
    get longestMs() {
      return sockets.size === 0 ? lastEndMs : performance.now() - openedAtMs
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      for (const socket of sockets) socket.destroy()
    },
  }
}
