/**
 * Connections to a backend are kept, but not for ever: behind one name there may be more servers tomorrow.
 */

import { backendConfig } from '@gateway/contracts/config'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { openBackend } from '../src/clients/backend.ts'
import { openConnections } from '../src/clients/connections.ts'
import { closing } from './open.ts'

const LIFE_MS = 100
const ANSWERED_IN_MS = 600

test('calls move to new connections in time, and those under way are not broken off', async () => {
  let connections = 0
  const server = createServer((request, response) => {
    response.write('a')
    setTimeout(() => response.end('b'), request.url!.endsWith('/slow') ? ANSWERED_IN_MS : 1)
  })
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const config = backendConfig.parse({ id: 'a', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
  const client = openBackend(
    config,
    {},
    openConnections(config, () => null, LIFE_MS),
  )
  closing({
    async [Symbol.asyncDispose]() {
      await client.close()
      server.close()
    },
  })
  const read = async (path: string) => {
    const exchange = client.fetchOwn(new URL(path, client.origin), 5_000)
    await exchange.response
    return (await exchange.readAll(10)).toString()
  }
  const slow = read('/slow')
  const untilMs = performance.now() + ANSWERED_IN_MS
  let calls = 0
  for (; performance.now() < untilMs; calls++) expect(await read('/')).toBe('ab')
  expect(await slow).toBe('ab')
  expect(connections).toBeGreaterThan(3)
  expect(connections).toBeLessThan(calls)
})
