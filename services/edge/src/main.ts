/**
 * An edge as a process of its own, on NATS and Redis.
 */

import { openRedisAdmission } from '@gateway/admission/redis'
import { openConfigSource } from '@gateway/config/config-source'
import { usageStream } from '@gateway/contracts/subjects'
import { openRedisIdempotency } from '@gateway/idempotency/redis'
import { runService } from '@gateway/service/run-service'
import { countLapsedLeases } from '@gateway/telemetry/process-metrics'
import { openTracing } from '@gateway/telemetry/open-tracing'
import { loadProcessSettings } from './config.ts'
import { startEdge } from './start.ts'

await runService({
  name: 'edge',
  loadSettings: loadProcessSettings,
  async open({ edge, tracing, configPath, redisUrl: url }, { logger, metrics, openBus }, opening) {
    const tracer = opening.use(await openTracing('edge', tracing, logger))
    const config = opening.use(await openConfigSource({ path: configPath, logger, metrics }))
    const admission = opening.use(await openRedisAdmission({ url, onLapsed: countLapsedLeases(metrics) }))
    const idempotency = opening.use(await openRedisIdempotency({ url }))
    const bus = opening.use(await openBus(usageStream))
    return { tracer, config, admission, idempotency, bus, settings: edge }
  },
  start: startEdge,
})
