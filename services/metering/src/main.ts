/**
 * Metering as a process of its own, on NATS, Redis and PostgreSQL.
 */

import { openRedisAdmission } from '@gateway/admission/redis'
import { openConfigSource } from '@gateway/config/config-source'
import { consumedAccountStream, usageStream } from '@gateway/contracts/subjects'
import { isThere, openDatabase } from '@gateway/postgres/database'
import { runService } from '@gateway/service/run-service'
import { countLapsedLeases } from '@gateway/telemetry/process-metrics'
import { openTracing } from '@gateway/telemetry/open-tracing'
import { loadSettings } from './config.ts'
import type { MeteringTables } from './db/tables.ts'
import { startMetering } from './start.ts'

await runService({
  name: 'metering',
  loadSettings,
  async open(
    { tracing, configPath: path, environment, smtpUrl, databaseUrl, redisUrl: url },
    { logger, metrics, openBus },
    opening,
  ) {
    const resolves = ['webhooks', 'exports'] as const
    const config = opening.use(await openConfigSource({ path, environment, resolves, logger, metrics }))
    const tracer = opening.use(await openTracing('metering', tracing, logger))
    const onConnectionLost = (err: Error) => logger.warn({ err }, 'a database connection broke')
    const named = { applicationName: 'metering', onConnectionLost }
    const database = opening.use(await openDatabase<MeteringTables>(databaseUrl, named))
    const admission = opening.use(await openRedisAdmission({ url, onLapsed: countLapsedLeases(metrics) }))
    const bus = opening.use(await openBus(usageStream, consumedAccountStream))
    return {
      tracer,
      databaseUrl,
      database,
      admission,
      bus,
      webhooks: { config, environment, smtpUrl },
      exports: { config, environment },
    }
  },
  start: startMetering,
  checks: ({ database }) => ({ database: () => isThere(database) }),
})
