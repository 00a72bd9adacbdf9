/**
 * A server that refuses every request: the edge's own HTTP server with a full load shedder, or a bare Node server that
 * returns a constant. `process.argv[2]` names the one.
 */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadDefaultConfig } from '@gateway/config/load-config'
import { createMetrics } from '@gateway/telemetry/metrics'
import { NO_TRACING } from '@gateway/telemetry/tracing'
import { openAccountCache } from '../../../services/edge/src/auth/account-cache.ts'
import { loadEdgeSettings } from '../../../services/edge/src/config.ts'
import type { EdgeContext } from '../../../services/edge/src/edge-context.ts'
import { listen } from '../../../services/edge/src/http/listen.ts'
import { createApp } from '../../../services/edge/src/create-app.ts'
import { edgeMetrics } from '../../../services/edge/src/metrics.ts'
import { routes } from '../../../services/edge/src/routes.ts'

const AT_ANY_PORT = { host: '127.0.0.1', port: 0 }
const BODY = JSON.stringify({ error: { message: 'refused', type: 'server_error', param: null, code: 'refused' } })

const port = process.argv[2] === 'bare' ? await startBare() : await startEdge()
process.send!(port)
process.on('disconnect', () => process.exit())

async function startBare(): Promise<number> {
  const server = createServer((_request, response) => {
    response.writeHead(503, { 'content-type': 'application/json', 'content-length': BODY.length, 'retry-after': '1' })
    response.end(BODY)
  })
  await new Promise<void>((resolve) => server.listen(AT_ANY_PORT, resolve))
  return (server.address() as AddressInfo).port
}

async function startEdge(): Promise<number> {
  // A request that an edge refuses meets these parts alone. The key of every request is looked at, as where half of the
  // capacity is left.
  const refused = {
    settings: loadEdgeSettings({ PORT: '0', HOST: AT_ANY_PORT.host }),
    config: { current: loadDefaultConfig().config },
    shedder: { hasCapacity: (isKnown: () => boolean) => isKnown(), wait: () => false },
    metrics: edgeMetrics(createMetrics({ service: 'edge' })),
    plans: openAccountCache(),
    tracer: NO_TRACING,
  }
  const { url } = await listen(createApp(refused as unknown as EdgeContext, routes), AT_ANY_PORT)
  return Number(new URL(url).port)
}
