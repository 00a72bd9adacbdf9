/**
 * A local server that returns credentials. Machines get their identity from such a server, which each cloud runs beside them.
 */

import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface IdentityServer extends AsyncDisposable {
  url: string
  requested: { path: string; headers: IncomingMessage['headers']; body: string }[]
}

export type Issue = (requested: IdentityServer['requested'][number]) => {
  status?: number
  headers?: Record<string, string>
  body: object | string
}

export async function startIdentityServer(issue: Issue): Promise<IdentityServer> {
  const requested: IdentityServer['requested'] = []
  const server = createServer((request, response) => {
    void (async () => {
      const pieces: Buffer[] = []
      for await (const piece of request) pieces.push(piece as Buffer)
      requested.push({ path: request.url!, headers: request.headers, body: Buffer.concat(pieces).toString() })
      const { status = 200, headers, body } = issue(requested.at(-1)!)
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(typeof body === 'string' ? body : JSON.stringify(body))
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requested,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
