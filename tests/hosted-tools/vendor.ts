/**
 * A vendor whose responses a test sets. It speaks chat, Responses and Messages, and keeps the bodies that it was sent.
 */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface VendorStandIn extends AsyncDisposable {
  /** With the version. */
  url: string
  bodies: Record<string, unknown>[]
  /** The plain response to any request that comes next, by the last step of its path. */
  replies: Record<string, object>
}

export async function startVendor(): Promise<VendorStandIn> {
  const bodies: Record<string, unknown>[] = []
  const replies: Record<string, object> = {}
  const server = createServer((request, response) => {
    void (async () => {
      let text = ''
      for await (const piece of request) text += String(piece)
      if (request.method !== 'POST') return response.end('{}')
      bodies.push(JSON.parse(text) as Record<string, unknown>)
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(replies[request.url!.split('/').at(-1)!] ?? {}))
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    bodies,
    replies,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export const message = (usage: object): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'Found.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage,
})

export const completion = (usage: object): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Found.' }, finish_reason: 'stop' }],
  usage,
})
