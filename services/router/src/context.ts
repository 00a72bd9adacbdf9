/**
 * What a router of its own process works on, opened in order and closed in reverse.
 */

import { usageStream } from '@gateway/contracts/subjects'
import { openConfigSource } from '@gateway/config/config-source'
import { ownProcess } from '@gateway/service/own-process'
import type { Metrics } from '@gateway/telemetry/metrics'
import { openTracing } from '@gateway/telemetry/open-tracing'
import type { ProcessSettings } from './config.ts'
import type { RouterParts } from './start.ts'

export async function openContext(
  settings: ProcessSettings,
  environment: NodeJS.ProcessEnv,
): Promise<RouterParts & { metrics: Metrics } & AsyncDisposable> {
  const { logger, metrics, openBus } = ownProcess('router', settings)
  await using opening = new AsyncDisposableStack()
  const tracer = opening.use(await openTracing('router', settings.tracing))
  const config = opening.use(await openConfigSource({ path: settings.configPath, environment, logger, metrics }))
  const bus = opening.use(await openBus(usageStream))
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
