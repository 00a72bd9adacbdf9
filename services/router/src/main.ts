/**
 * A router as a process of its own, on NATS.
 */

import { openConfigSource } from '@gateway/config/config-source'
import { keptStream, usageStream } from '@gateway/contracts/subjects'
import { runService } from '@gateway/service/run-service'
import { openTracing } from '@gateway/telemetry/open-tracing'
import { readProcessSettings } from './config.ts'
import { startRouter } from './start.ts'

const environment = process.env

await runService({
  name: 'router',
  loadSettings: readProcessSettings,
  async open({ tracing, configPath: path }, { logger, metrics, openBus }, opening) {
    const tracer = opening.use(await openTracing('router', tracing, logger))
    const config = opening.use(await openConfigSource({ path, environment, logger, metrics }))
    const bus = opening.use(await openBus(usageStream, keptStream))
    return { tracer, config, bus, environment }
  },
  start: startRouter,
})
