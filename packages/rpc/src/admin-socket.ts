/**
 * The socket by which an operator's command line reaches a gateway with a memory bus. It lies in the data folder, and the owner
 * of that folder alone can open it. `POST /<subject>` forwards a request to the bus and returns the reply.
 */

import { chmod, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { once } from 'node:events'
import type { Bus } from '@gateway/bus/port'
import { operatorSubjects } from '@gateway/contracts/subjects'
import type { Logger } from '@gateway/telemetry/logger'

export const OPERATOR_SOCKET = 'operator.sock'

const TIMEOUT_MS = 10_000
/** Systems refuse a longer path of a socket. */
const MAX_PATH_BYTES = 103

export function isTooLong(path: string): boolean {
  return Buffer.byteLength(path) > MAX_PATH_BYTES
}

export async function openAdminSocket(options: { path: string; bus: Bus; logger: Logger }): Promise<AsyncDisposable> {
  const { path, bus, logger } = options
  if (isTooLong(path)) {
    logger.warn({ path }, 'the path of the data folder is too long for a socket; the command line cannot be used')
    return { [Symbol.asyncDispose]: async () => {} }
  }
  const server = createServer((request, response) => {
    const subject = operatorSubjects.find((known) => request.url === `/${known}`)
    if (request.method !== 'POST' || subject === undefined) {
      response.writeHead(404).end()
      return
    }
    buffer(request)
      .then((body) => bus.request(subject, body, { timeoutMs: TIMEOUT_MS }))
      .then(
        (reply) => response.writeHead(200, { 'content-type': 'application/json' }).end(reply),
        (error: unknown) => response.writeHead(502).end(error instanceof Error ? error.message : String(error)),
      )
  })
  // A killed process leaves its socket behind. The folder belongs to one process at a time, so nobody uses it.
  await rm(path, { force: true })
  server.listen(path)
  await once(server, 'listening')
  await chmod(path, 0o600)
  return {
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
