/**
 * A bare Node server that refuses every request, after as long as the edge lets a refusal wait, and reads no word of
 * it. The effect of that on a neighbour of the gateway is the machine's part: bytes that come in, on the gateway's own
 * core.
 */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const LEAST_HOLD_MS = 500
const HOLD_SPREAD_MS = 500

const server = createServer((request, response) => {
  request.resume()
  const holdMs = LEAST_HOLD_MS + Math.random() * HOLD_SPREAD_MS
  setTimeout(() => response.writeHead(429, { 'content-type': 'application/json' }).end('{"error":"refused"}'), holdMs)
})
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit())
