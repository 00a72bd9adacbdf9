/**
 * What an edge of its own process works on, opened in order and closed in reverse.
 */

import { openRedisAdmission } from '@gateway/admission/redis'
import { openRedisIdempotency } from '@gateway/idempotency/redis'
import { usageStream } from '@gateway/contracts/subjects'
import { openConfigSource } from '@gateway/config/config-source'
import { ownProcess } from '@gateway/service/own-process'
import { countLapsedLeases } from '@gateway/telemetry/lapsed-leases'
import type { Metrics } from '@gateway/telemetry/metrics'
import { openTracing } from '@gateway/telemetry/open-tracing'
import type { ProcessSettings } from './config.ts'
import type { EdgeParts } from './start.ts'

export async function openContext(
  settings: ProcessSettings,
): Promise<EdgeParts & { metrics: Metrics } & AsyncDisposable> {
  const { logger, metrics, openBus } = ownProcess('edge', settings)
  await using opening = new AsyncDisposableStack()
  const tracer = opening.use(await openTracing('edge', settings.tracing))
  const config = opening.use(await openConfigSource({ path: settings.configPath, logger, metrics }))
  const onLapsed = countLapsedLeases(metrics)
  const admission = opening.use(await openRedisAdmission({ url: settings.redisUrl, onLapsed }))
  const idempotency = opening.use(await openRedisIdempotency({ url: settings.redisUrl }))
  const bus = opening.use(await openBus(usageStream))
  const opened = opening.move()
  const parts = { logger, metrics, tracer, config, admission, idempotency, bus, settings: settings.edge }
  return { ...parts, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}
