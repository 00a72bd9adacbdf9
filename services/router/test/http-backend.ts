/**
 * A backend over plain HTTP whose every response a test writes byte by byte.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export interface SeenRequest {
  path: string
  headers: IncomingMessage['headers']
  body: Record<string, unknown>
  text: string
  /** Resolves when the request's connection is closed. */
  connectionClosed: Promise<void>
}

export type Reply = (response: ServerResponse, request: SeenRequest, socket: Socket) => unknown

export interface HttpBackend extends AsyncDisposable {
  url: string
  /** Requests other than probes. */
  seen: SeenRequest[]
  probes: number
  /** Probes get a 403. */
  refusesProbes: boolean
  reply: Reply
}

export async function startHttpBackend(reply: Reply): Promise<HttpBackend> {
  const server = createServer((request, response) => {
    void readBody(request).then((text) => {
      if (request.method === 'GET' && request.url?.endsWith('/models')) {
        backend.probes++
        if (backend.refusesProbes) return sendJson(response, 403, { error: 'not yours to list' })
        response.end('{"object":"list","data":[]}')
        return
      }
      request.socket.setMaxListeners(0)
      const closed = new Promise<void>((resolve) => request.socket.once('close', () => resolve()))
      const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
      const seen = { path: request.url ?? '', headers: request.headers, body, text, connectionClosed: closed }
      backend.seen.push(seen)
      backend.reply(response, seen, request.socket)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const backend: HttpBackend = {
    url: `http://127.0.0.1:${port}/v1`,
    seen: [],
    probes: 0,
    refusesProbes: false,
    reply,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return backend
}

async function readBody(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString('utf8')
}

export const USAGE = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }

export function completion(text = 'Hello there', usage: object | undefined = USAGE): object {
  const message = { role: 'assistant', content: text }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'backend-model',
    choices,
    ...(usage ? { usage } : {}),
  }
}

export function chunk(delta: object, finishReason: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }]
  return event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'backend-model', choices })
}

export function event(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

export const ROLE = chunk({ role: 'assistant', content: '' })
export const STOP = chunk({}, 'stop')
export const USAGE_CHUNK = event({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'backend-model',
  choices: [],
  usage: USAGE,
})
export const DONE = 'data: [DONE]\n\n'
export const WORDS = ['Hel', 'lo ', 'thére', ' 🙂']

export function completeStream(): string {
  return ROLE + WORDS.map((word) => chunk({ content: word })).join('') + STOP + USAGE_CHUNK + DONE
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

export function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
}

/** A good backend: streams on request. */
export const goodChat: Reply = (response, request) => {
  if (request.body.stream !== true) return sendJson(response, 200, completion())
  openStream(response)
  response.end(completeStream())
}
