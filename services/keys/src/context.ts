/**
 * Opens the servers and stores of keys in a process of its own, and closes them in reverse.
 */

import { openRedisAdmission } from '@gateway/admission/redis'
import { accountStream } from '@gateway/contracts/subjects'
import { openDatabase } from '@gateway/postgres/database'
import { openConfigSource } from '@gateway/config/config-source'
import { ownProcess } from '@gateway/service/own-process'
import { countLapsedLeases } from '@gateway/telemetry/lapsed-leases'
import type { Metrics } from '@gateway/telemetry/metrics'
import type { Settings } from './config.ts'
import type { KeysTables } from './db/tables.ts'
import { URGENT_CONNECTIONS, type KeysParts } from './start.ts'

export async function openContext(settings: Settings): Promise<KeysParts & { metrics: Metrics } & AsyncDisposable> {
  const { logger, metrics, openBus } = ownProcess('keys', settings)
  await using opening = new AsyncDisposableStack()
  const config = opening.use(await openConfigSource({ path: settings.configPath, logger, metrics }))
  const database = opening.use(
    await openDatabase<KeysTables>(settings.databaseUrl, {
      applicationName: 'keys',
      onConnectionLost: (error) => logger.warn({ err: error }, 'a database connection broke'),
    }),
  )
  const urgent = opening.use(
    await openDatabase<KeysTables>(settings.databaseUrl, {
      applicationName: 'keys-urgent',
      poolSize: URGENT_CONNECTIONS,
      onConnectionLost: (error) => logger.warn({ err: error }, 'a database connection broke'),
    }),
  )
  const onLapsed = countLapsedLeases(metrics)
  const admission = opening.use(await openRedisAdmission({ url: settings.redisUrl, onLapsed }))
  const bus = opening.use(await openBus(accountStream))
  const opened = opening.move()
  const { databaseUrl, masterSecret } = settings
  return {
    logger,
    metrics,
    config,
    databaseUrl,
    database,
    urgent,
    admission,
    bus,
    masterSecret,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
