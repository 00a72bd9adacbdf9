/**
 * A backend that plays the model of an agent, in the wire format of one target dialect. It keeps no state of the
 * conversation: the files in the agent's repository say which step comes next. So a repeated request gets the same step,
 * and a conversation that was summed up goes on where it was.
 *
 * It counts the tokens of each response that went out whole. The ledger must hold the same.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TargetDialect } from '@gateway/contracts/vendors'
import { chatWire } from './wire/chat.ts'
import { messagesWire } from './wire/messages.ts'
import { responsesWire } from './wire/responses.ts'
import type { Json, Model, Reply, Wire } from './wire/wire.ts'

export interface Counts {
  requests: number
  promptTokens: number
  completionTokens: number
}

export interface StandIn extends AsyncDisposable {
  url: string
  counts: Counts
  /** Decides on each reply. */
  model: Model
  /** Requests that it has refused, in words. */
  complaints: string[]
  seen: { path: string; body: Json }[]
  /** Set while a request waits for something to happen: resolves with the port that the router calls from. */
  onHold: ((remotePort: number) => Promise<void>) | null
  /** Responses that are open now. */
  open: Set<ServerResponse>
}

const WIRES: Record<TargetDialect, Wire> = { chat: chatWire, messages: messagesWire, responses: responsesWire }
const NOTHING: Model = () => ({ text: 'There is nothing to do.', promptTokens: 1, completionTokens: 1 })

export async function startStandIn(dialect: TargetDialect): Promise<StandIn> {
  const wire = WIRES[dialect]
  const server = createServer((request, response) => {
    void serve(standIn, wire, request, response).catch((error: unknown) => {
      standIn.complaints.push(String(error))
      response.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const standIn: StandIn = {
    url: `http://127.0.0.1:${port}/v1`,
    counts: noCounts(),
    model: NOTHING,
    complaints: [],
    seen: [],
    onHold: null,
    open: new Set(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return standIn
}

export function noCounts(): Counts {
  return { requests: 0, promptTokens: 0, completionTokens: 0 }
}

async function serve(standIn: StandIn, wire: Wire, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const text = await read(incoming)
  const path = (incoming.url ?? '').replace('/v1', '')
  if (incoming.method === 'GET') return sendJson(response, 200, { object: 'list', data: [] })
  const body = JSON.parse(text) as Json
  standIn.seen.push({ path, body })
  const request = wire.read(path, body)
  if (typeof request === 'string') {
    standIn.complaints.push(request)
    return sendJson(response, 400, wire.refusal(request))
  }
  const reply = standIn.model(request)
  if (reply.hold && standIn.onHold) {
    const { onHold } = standIn
    standIn.onHold = null
    await onHold(incoming.socket.remotePort!)
    if (response.destroyed || incoming.socket.destroyed) return
  }
  standIn.open.add(response)
  response.once('close', () => standIn.open.delete(response))
  response.once('finish', () => count(standIn.counts, reply))
  if (!request.stream) return sendJson(response, 200, wire.complete(reply, body, path))
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const { begin, end } = wire.events(reply, body)
  for (const event of begin) response.write(event)
  if (reply.endless) await writeForMinutes(response, wire)
  if (!response.destroyed) response.end(end.join(''))
}

const ENDLESS_PIECES = 1_200
const PIECE_EVERY_MS = 100

/** Two minutes of text: somebody has to end it. */
async function writeForMinutes(response: ServerResponse, wire: Wire): Promise<void> {
  for (let piece = 0; piece < ENDLESS_PIECES && !response.destroyed; piece++) {
    response.write(wire.piece(`${piece} `))
    await sleep(PIECE_EVERY_MS)
  }
}

function count(counts: Counts, { promptTokens, completionTokens }: Reply): void {
  counts.requests++
  counts.promptTokens += promptTokens
  counts.completionTokens += completionTokens
}

async function read(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString('utf8')
}

function sendJson(response: ServerResponse, status: number, json: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(json))
}
