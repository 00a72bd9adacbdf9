/**
 * Stands between a coding tool and the gateway, and notes each request with the status of its response. It changes no byte.
 */

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface RecordedRequest {
  /** `GET /v1/models?limit=1000` */
  line: string
  status: number
  headers: IncomingHttpHeaders
  body: string
}

export interface RecordedRequests extends AsyncDisposable {
  url: string
  seen: RecordedRequest[]
}

export async function recordRequests(gatewayUrl: string): Promise<RecordedRequests> {
  const seen: RecordedRequest[] = []
  const server = createServer((incoming, outgoing) => {
    const { method, url = '', headers } = incoming
    const pieces: Buffer[] = []
    incoming.on('data', (piece: Buffer) => pieces.push(piece))
    const onward = request(gatewayUrl + url, { method, headers }, (response) => {
      const { statusCode: status = 0 } = response
      seen.push({ line: `${method} ${url}`, status, headers, body: Buffer.concat(pieces).toString() })
      outgoing.writeHead(status, response.headers)
      response.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
