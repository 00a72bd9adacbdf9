/**
 * A router as a process of its own, on NATS.
 */

import { openHealthServer } from '@gateway/service/health'
import { reportFatal } from '@gateway/service/report-fatal'
import { endOnSignal, stopSignal } from '@gateway/service/stop-signal'
import { readProcessSettings } from './config.ts'
import { openContext } from './context.ts'
import { startRouter } from './start.ts'

try {
  endOnSignal()
  const settings = readProcessSettings(process.env)
  await using context = await openContext(settings, process.env)
  let ready = () => false
  // Opened first and closed last: a router that drains is alive, and not ready.
  await using health = await openHealthServer({
    port: settings.healthPort,
    host: settings.healthHost,
    checks: { router: () => ready() },
    metrics: context.metrics,
  })
  await using router = await startRouter(context)
  ready = router.ready
  context.logger.info({ healthUrl: health.url }, 'router is ready')
  await stopSignal()
} catch (error) {
  reportFatal(error)
}
