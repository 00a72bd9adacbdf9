/**
 * Keys as a process of its own, on NATS, Redis and PostgreSQL.
 */

import { openRedisAdmission } from '@gateway/admission/redis'
import { openConfigSource } from '@gateway/config/config-source'
import { accountStream } from '@gateway/contracts/subjects'
import { isThere, openDatabase } from '@gateway/postgres/database'
import { runService } from '@gateway/service/run-service'
import { countLapsedLeases } from '@gateway/telemetry/process-metrics'
import { loadSettings } from './config.ts'
import type { KeysTables } from './db/tables.ts'
import { startKeys, URGENT_CONNECTIONS } from './start.ts'

await runService({
  name: 'keys',
  loadSettings,
  async open({ configPath, databaseUrl, redisUrl: url, masterSecret }, { logger, metrics, openBus }, opening) {
    const config = opening.use(await openConfigSource({ path: configPath, logger, metrics }))
    const onConnectionLost = (err: Error) => logger.warn({ err }, 'a database connection broke')
    const named = { applicationName: 'keys', onConnectionLost }
    const database = opening.use(await openDatabase<KeysTables>(databaseUrl, named))
    const few = { applicationName: 'keys-urgent', poolSize: URGENT_CONNECTIONS, onConnectionLost }
    const urgent = opening.use(await openDatabase<KeysTables>(databaseUrl, few))
    const admission = opening.use(await openRedisAdmission({ url, onLapsed: countLapsedLeases(metrics) }))
    const bus = opening.use(await openBus(accountStream))
    return { config, databaseUrl, database, urgent, admission, bus, masterSecret }
  },
  start: startKeys,
  checks: ({ database }) => ({ database: () => isThere(database) }),
})
