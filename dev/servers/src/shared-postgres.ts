/**
 * Vitest's global setup: one PostgreSQL server for all test files, started when the first of them requests it.
 */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SHARED_POSTGRES_VARIABLE, startPostgres, type PostgresServer } from './start.ts'

export default async function setup(): Promise<() => Promise<void>> {
  let postgres: Promise<PostgresServer> | undefined
  const broker = createServer((_request, response) => {
    postgres ??= startPostgres()
    postgres.then(
      ({ url }) => response.end(url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  broker.listen(0, '127.0.0.1')
  await once(broker, 'listening')
  // Test processes inherit it.
  process.env[SHARED_POSTGRES_VARIABLE] = `http://127.0.0.1:${(broker.address() as AddressInfo).port}`
  return async () => {
    broker.close()
    broker.closeAllConnections()
    const server = await postgres?.catch(() => undefined)
    await server?.[Symbol.asyncDispose]()
  }
}
