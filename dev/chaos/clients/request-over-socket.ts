/**
 * Sends a request of the Responses API over a WebSocket, and knows every way in which that can end. Never throws.
 */

import { WebSocket } from 'ws'
import { socketUrl, TurnClient, type TurnEvent } from '../../../tests/websocket/client.ts'
import type { Question } from './question.ts'
import { responseReader } from './read-response.ts'
import { noteRefusal } from './request-over-http.ts'
import type { Seen } from './seen.ts'

export interface OpenSocket extends AsyncDisposable {
  /** Null: the upgrade was refused, or nobody was there. */
  client: TurnClient | null
  readonly isOpen: boolean
  refusal: { status: number; body: string; requestId: string | null } | null
}

const GIVE_UP_MS = 60_000

export function openSocket(url: string, key: string): Promise<OpenSocket> {
  const socket = new WebSocket(socketUrl(url), {
    headers: { authorization: `Bearer ${key}` },
    handshakeTimeout: GIVE_UP_MS,
  })
  const dispose = async () => socket.terminate()
  const failed = (refusal: OpenSocket['refusal']): OpenSocket => {
    return { client: null, isOpen: false, refusal, [Symbol.asyncDispose]: dispose }
  }
  return new Promise((resolve) => {
    socket.on('error', () => resolve(failed(null)))
    socket.on('unexpected-response', (_request, response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (piece: string) => (body += piece))
      response.on('error', () => resolve(failed(null)))
      const requestId = response.headers['x-request-id']?.toString() ?? null
      response.on('end', () => resolve(failed({ status: response.statusCode ?? 0, body, requestId })))
    })
    socket.on('open', () => {
      const client = new TurnClient(socket)
      resolve({
        client,
        get isOpen() {
          return socket.readyState === WebSocket.OPEN
        },
        refusal: null,
        [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
      })
    })
  })
}

/** Returns the id of the response, for the next request to name. */
export async function requestOverSocket(
  { client, refusal }: OpenSocket,
  question: Question,
  seen: Seen,
): Promise<string | null> {
  if (!client) {
    if (refusal) noteRefused(seen, refusal.status, refusal.body, refusal.requestId)
    else seen.problem = 'unreachable'
    seen.endedAtMs = Date.now()
    return null
  }
  const giveUp = setTimeout(() => {
    seen.problem = 'hung'
    client.socket.terminate()
  }, GIVE_UP_MS)
  client.send({ type: 'response.create', ...question.body })
  const id = await readTurn(client, question, seen)
  clearTimeout(giveUp)
  seen.endedAtMs = Date.now()
  return id
}

async function readTurn(client: TurnClient, question: Question, seen: Seen): Promise<string | null> {
  const reader = responseReader(seen, question)
  let id: string | null = null
  try {
    for (;;) {
      const event = await client.next()
      if (event.type === 'error' && seen.headAtMs === null) {
        const { status = 0, headers = {} } = event
        noteRefused(seen, status, JSON.stringify(event), headers['x-request-id'] ?? null)
        return null
      }
      id ??= noteHead(seen, event)
      if (event.type === 'error') seen.errorEvent = event.error?.code ?? 'without a code'
      else reader.push(`data: ${JSON.stringify(event)}\n\n`)
      if (!client.isLast(event)) continue
      reader.end(true)
      return id
    }
  } catch (error) {
    seen.detail ||= String(error)
    if (seen.headAtMs === null) seen.problem ??= 'unreachable'
    else reader.end(false)
    return null
  }
}

function noteHead(seen: Seen, { response }: TurnEvent): string | null {
  seen.headAtMs ??= Date.now()
  seen.status = 200
  if (!response) return null
  seen.requestId = response.id.replace('resp_', '')
  return response.id
}

function noteRefused(seen: Seen, status: number, body: string, requestId: string | null): void {
  seen.headAtMs = Date.now()
  seen.status = status
  seen.requestId = requestId
  noteRefusal(seen, body)
}
