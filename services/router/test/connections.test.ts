/**
 * Connections to a backend are kept, but not for ever: behind one name there may be more servers tomorrow.
 */

import { backendConfig } from '@gateway/contracts/config'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { expect, test } from 'vitest'
import { openBackend } from '../src/clients/backend.ts'
import { openConnections } from '../src/clients/connections.ts'
import { closing } from './open.ts'

const LIFETIME_MS = 100

test('calls move to new connections in time, and those under way are not broken off', async () => {
  const connections = new Set<Socket>()
  const { promise: others, resolve: othersResponded } = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    response.write('a')
    if (request.url === '/slow') void others.then(() => response.end('b'))
    else response.end('b')
  })
  server.on('connection', (socket) => connections.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const config = backendConfig.parse({ id: 'a', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
  const client = openBackend(
    config,
    {},
    openConnections(config, () => null, LIFETIME_MS),
  )
  closing({
    async [Symbol.asyncDispose]() {
      await client.close()
      server.close()
    },
  })
  const read = async (path: string) => {
    const exchange = client.fetchOwn(new URL(path, client.origin), 60_000)
    await exchange.response
    return (await exchange.readAll(10)).toString()
  }
  const slow = read('/slow')
  // A connection that never moved, or one new connection per call, would keep this going until the test's own time is
  // over.
  for (let calls = 0; connections.size <= 4 || calls <= connections.size; calls++) expect(await read('/')).toBe('ab')
  othersResponded()
  expect(await slow).toBe('ab')
})
