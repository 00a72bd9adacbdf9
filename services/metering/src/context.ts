/**
 * Opens the servers and stores of metering in a process of its own, and closes them in reverse.
 */

import { openRedisAdmission } from '@gateway/admission/redis'
import { openNatsBus } from '@gateway/bus/nats'
import { usageStream } from '@gateway/contracts/subjects'
import { openDatabase } from '@gateway/postgres/database'
import { countLapsedLeases } from '@gateway/telemetry/lapsed-leases'
import { createLogger } from '@gateway/telemetry/logger'
import { measureBus } from '@gateway/telemetry/measure-bus'
import type { Metrics } from '@gateway/telemetry/metrics'
import { createProcessMetrics } from '@gateway/telemetry/process-metrics'
import { openTracing } from '@gateway/telemetry/open-tracing'
import type { Settings } from './config.ts'
import type { MeteringTables } from './db/tables.ts'
import type { MeteringParts } from './start.ts'

export async function openContext(settings: Settings): Promise<MeteringParts & { metrics: Metrics } & AsyncDisposable> {
  const logger = createLogger({ service: 'metering', level: settings.logLevel })
  const metrics = createProcessMetrics({ service: 'metering' })
  await using opening = new AsyncDisposableStack()
  const tracer = opening.use(await openTracing('metering', settings.tracing))
  const database = opening.use(
    await openDatabase<MeteringTables>(settings.databaseUrl, {
      applicationName: 'metering',
      onConnectionLost: (error) => logger.warn({ err: error }, 'a database connection broke'),
    }),
  )
  const onLapsed = countLapsedLeases(metrics)
  const admission = opening.use(await openRedisAdmission({ url: settings.redisUrl, onLapsed }))
  const bus = opening.use(
    await measureBus(metrics, (measures) =>
      openNatsBus({
        url: settings.natsUrl,
        name: 'metering',
        streams: [{ ...usageStream, replicas: settings.streamReplicas }],
        onStatus: (status) => logger.info({ status }, 'bus'),
        measures,
      }),
    ),
  )
  const opened = opening.move()
  const { databaseUrl } = settings
  const parts = { logger, metrics, tracer, databaseUrl, database, admission, bus }
  return { ...parts, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}
