/**
 * A real receiver of webhooks, which verifies each delivery by the library of the Standard Webhooks specification.
 */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

export const SECRET = 'whsec_TXlTZWNyZXRPZlRoaXJ0eVR3b0J5dGVzRm9yQVRlc3Q='
export const FORMER_SECRET = 'whsec_VGhlRm9ybWVyU2VjcmV0T2ZUaGlydHlUd29CeXRlcyE='

export interface Delivery {
  id: string
  path: string
  type: string
  timestamp: string
  data: Record<string, unknown>
}

/** Replies in place of a 200; the delivery is verified, and counts as received only where it replies nothing. */
export type Behaviour = (response: ServerResponse, delivery: Delivery) => 'handled' | undefined

export interface Receiver extends AsyncDisposable {
  url: string
  /** Taken with a 200. */
  received: Delivery[]
  /** Verified, with any reply. */
  attempted: Delivery[]
  refused: unknown[]
  behave: Behaviour
}

export async function startReceiver(secret = SECRET): Promise<Receiver> {
  const server = createServer((request, response) => void receive(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}`,
    received: [],
    attempted: [],
    refused: [],
    behave: () => undefined,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const parts: Buffer[] = []
      for await (const part of request) parts.push(part as Buffer)
      const headers = request.headers as Record<string, string>
      const body = new Webhook(secret).verify(Buffer.concat(parts), headers) as Omit<Delivery, 'id' | 'path'>
      const delivery = { id: headers['webhook-id']!, path: request.url!, ...body }
      receiver.attempted.push(delivery)
      if (receiver.behave(response, delivery) === 'handled') return
      receiver.received.push(delivery)
      response.end('thank you')
    } catch (error) {
      receiver.refused.push(error)
      response.writeHead(401).end()
    }
  }

  return receiver
}
