/**
 * Metering as a process of its own, on NATS, Redis and PostgreSQL.
 */

import { openHealthServer } from '@gateway/service/health'
import { reportFatal } from '@gateway/service/report-fatal'
import { endOnSignal, stopSignal } from '@gateway/service/stop-signal'
import { loadSettings } from './config.ts'
import { openContext } from './context.ts'
import { startMetering } from './start.ts'

try {
  endOnSignal()
  const settings = loadSettings(process.env)
  await using context = await openContext(settings)
  let ready = () => false
  // Opened first and closed last: a service that starts or stops is alive, and not ready.
  await using health = await openHealthServer({
    port: settings.healthPort,
    host: settings.healthHost,
    checks: { metering: () => ready(), database: () => context.database.query('select').then(() => true) },
    metrics: context.metrics,
  })
  await using metering = await startMetering(context)
  ready = metering.ready
  context.logger.info({ healthUrl: health.url }, 'metering is ready')
  await stopSignal()
} catch (error) {
  reportFatal(error)
}
