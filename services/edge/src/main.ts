/**
 * An edge as a process of its own, on NATS and Redis.
 */

import { openHealthServer } from '@gateway/service/health'
import { reportFatal } from '@gateway/service/report-fatal'
import { endOnSignal, stopSignal } from '@gateway/service/stop-signal'
import { loadProcessSettings } from './config.ts'
import { openContext } from './context.ts'
import { startEdge } from './start.ts'

try {
  endOnSignal()
  const settings = loadProcessSettings(process.env)
  await using context = await openContext(settings)
  let ready = () => false
  // Opened first and closed last: an edge that drains is alive, and not ready.
  await using _health = await openHealthServer({
    port: settings.healthPort,
    host: settings.healthHost,
    checks: { edge: () => ready() },
    metrics: context.metrics,
  })
  await using edge = await startEdge(context)
  ready = edge.ready
  context.logger.info({ url: edge.url }, 'edge is ready')
  await stopSignal()
} catch (error) {
  reportFatal(error)
}
