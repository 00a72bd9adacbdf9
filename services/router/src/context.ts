/**
 * What a router of its own process works on, opened in order and closed in reverse.
 */

import { openNatsBus } from '@gateway/bus/nats'
import { usageStream } from '@gateway/contracts/subjects'
import { openConfigSource } from '@gateway/config/config-source'
import { createLogger } from '@gateway/telemetry/logger'
import { measureBus } from '@gateway/telemetry/measure-bus'
import type { Metrics } from '@gateway/telemetry/metrics'
import { createProcessMetrics } from '@gateway/telemetry/process-metrics'
import { openTracing } from '@gateway/telemetry/open-tracing'
import type { ProcessSettings } from './config.ts'
import type { RouterParts } from './start.ts'

export async function openContext(
  settings: ProcessSettings,
  environment: NodeJS.ProcessEnv,
): Promise<RouterParts & { metrics: Metrics } & AsyncDisposable> {
  const logger = createLogger({ service: 'router', level: settings.logLevel })
  const metrics = createProcessMetrics({ service: 'router' })
  await using opening = new AsyncDisposableStack()
  const tracer = opening.use(await openTracing('router', settings.tracing))
  const config = opening.use(await openConfigSource({ path: settings.configPath, logger, metrics }))
  const onStatus = (status: object) => logger.info({ status }, 'bus')
  const bus = opening.use(
    await measureBus(metrics, (measures) =>
      openNatsBus({
        url: settings.natsUrl,
        name: 'router',
        streams: [{ ...usageStream, replicas: settings.streamReplicas }],
        onStatus,
        measures,
      }),
    ),
  )
  const opened = opening.move()
  return {
    logger,
    config,
    bus,
    environment,
    metrics,
    tracer,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
