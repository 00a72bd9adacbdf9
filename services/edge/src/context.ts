/**
 * What an edge of its own process works on, opened in order and closed in reverse.
 */

import { openRedisAdmission } from '@gateway/admission/redis'
import { openNatsBus } from '@gateway/bus/nats'
import { openRedisIdempotency } from '@gateway/idempotency/redis'
import { usageStream } from '@gateway/contracts/subjects'
import { openConfigSource } from '@gateway/config/config-source'
import { countLapsedLeases } from '@gateway/telemetry/lapsed-leases'
import { createLogger } from '@gateway/telemetry/logger'
import { measureBus } from '@gateway/telemetry/measure-bus'
import type { Metrics } from '@gateway/telemetry/metrics'
import { createProcessMetrics } from '@gateway/telemetry/process-metrics'
import { openTracing } from '@gateway/telemetry/open-tracing'
import type { ProcessSettings } from './config.ts'
import type { EdgeParts } from './start.ts'

export async function openContext(
  settings: ProcessSettings,
): Promise<EdgeParts & { metrics: Metrics } & AsyncDisposable> {
  const logger = createLogger({ service: 'edge', level: settings.logLevel })
  const metrics = createProcessMetrics({ service: 'edge' })
  await using opening = new AsyncDisposableStack()
  const tracer = opening.use(await openTracing('edge', settings.tracing))
  const config = opening.use(await openConfigSource({ path: settings.configPath, logger, metrics }))
  const onLapsed = countLapsedLeases(metrics)
  const admission = opening.use(await openRedisAdmission({ url: settings.redisUrl, onLapsed }))
  const idempotency = opening.use(await openRedisIdempotency({ url: settings.redisUrl }))
  const bus = opening.use(
    await measureBus(metrics, (measures) =>
      openNatsBus({
        url: settings.natsUrl,
        name: 'edge',
        streams: [{ ...usageStream, replicas: settings.streamReplicas }],
        onStatus: (status) => logger.info({ status }, 'bus'),
        measures,
      }),
    ),
  )
  const opened = opening.move()
  const parts = { logger, metrics, tracer, config, admission, idempotency, bus, settings: settings.edge }
  return { ...parts, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}
