/**
 * A backend whose streamed responses never end: events of 16 KiB for as long as somebody reads them. A request may name a
 * number of them (`40 events`). All responses are made of one text, so that a thousand of them cost nothing.
 */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

export interface EndlessBackend extends AsyncDisposable {
  readonly url: string
  /** Responses that go on. */
  readonly running: number
  readonly sentBytes: number
}

/** The model whose response is short instead. */
export const SHORT_MODEL = 'short'

/** Between two events, so that the system's buffers do not grow to their size on an idle machine. */
const PACE_MS = 20
const EVENT_BYTES = 16 * 1024

/** Bytes beside the text: a router ends a text that is longer than any model writes. */
const event = (content: string, finishReason: string | null = null, besideBytes = 0) =>
  `data: ${JSON.stringify({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    ...(besideBytes > 0 ? { filler: 'x'.repeat(besideBytes) } : {}),
    choices: [{ index: 0, delta: { content }, finish_reason: finishReason }],
  })}\n\n`
const LARGE = event('x', null, EVENT_BYTES)
const GOODBYE = `${event('', 'stop')}data: [DONE]\n\n`
const SHORT_RESPONSE = event('hello').repeat(3) + GOODBYE

export async function startEndlessBackend(): Promise<EndlessBackend> {
  let running = 0
  let sentBytes = 0

  async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { model, messages } = JSON.parse((await text(request)) || '{}') as ChatRequest
    let left = Number(/(\d+) events/.exec(String(messages?.at(-1)?.content))?.[1] ?? Infinity)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (model === SHORT_MODEL) return void response.end(SHORT_RESPONSE)
    running++
    const gone = once(response, 'close').then(() => running--)
    while (!response.destroyed) {
      if (left-- <= 0) return void response.end(GOODBYE)
      sentBytes += LARGE.length
      if (response.write(LARGE)) await sleep(PACE_MS)
      else await Promise.race([once(response, 'drain').catch(() => {}), gone])
    }
  }

  const server = createServer((request, response) => void reply(request, response).catch(() => response.destroy()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    get running() {
      return running
    },
    get sentBytes() {
      return sentBytes
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

interface ChatRequest {
  model?: string
  messages?: { content: string }[]
}
