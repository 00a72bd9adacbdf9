/**
 * Opens the servers and stores of metering in a process of its own, and closes them in reverse.
 */

import { openRedisAdmission } from '@gateway/admission/redis'
import { usageStream } from '@gateway/contracts/subjects'
import { openDatabase } from '@gateway/postgres/database'
import { ownProcess } from '@gateway/service/own-process'
import { countLapsedLeases } from '@gateway/telemetry/lapsed-leases'
import type { Metrics } from '@gateway/telemetry/metrics'
import { openTracing } from '@gateway/telemetry/open-tracing'
import type { Settings } from './config.ts'
import type { MeteringTables } from './db/tables.ts'
import type { MeteringParts } from './start.ts'

export async function openContext(settings: Settings): Promise<MeteringParts & { metrics: Metrics } & AsyncDisposable> {
  const { logger, metrics, openBus } = ownProcess('metering', settings)
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
  const bus = opening.use(await openBus(usageStream))
  const opened = opening.move()
  const { databaseUrl } = settings
  const parts = { logger, metrics, tracer, databaseUrl, database, admission, bus }
  return { ...parts, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}
