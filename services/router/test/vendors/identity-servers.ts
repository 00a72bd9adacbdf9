/**
 * Where machines get their identity from, as each cloud runs it beside them: a local server that answers credentials.
 */

import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface IdentityServer extends AsyncDisposable {
  url: string
  asked: { path: string; headers: IncomingMessage['headers']; body: string }[]
}

export type Issue = (asked: IdentityServer['asked'][number]) => {
  status?: number
  headers?: Record<string, string>
  body: object | string
}

export async function startIdentityServer(issue: Issue): Promise<IdentityServer> {
  const asked: IdentityServer['asked'] = []
  const server = createServer((request, response) => {
    void (async () => {
      const pieces: Buffer[] = []
      for await (const piece of request) pieces.push(piece as Buffer)
      asked.push({ path: request.url!, headers: request.headers, body: Buffer.concat(pieces).toString() })
      const { status = 200, headers, body } = issue(asked.at(-1)!)
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(typeof body === 'string' ? body : JSON.stringify(body))
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
