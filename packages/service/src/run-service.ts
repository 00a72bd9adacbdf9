/**
 * A service as a process of its own: from its environment to its end on a signal.
 */

import { countBuffersWithHeap } from './count-buffers-with-heap.ts'
import { openHealthServer, type ReadinessCheck } from './health.ts'
import type { Logger } from '@gateway/telemetry/logger'
import type { Metrics } from '@gateway/telemetry/metrics'
import { reportFatal } from './report-fatal.ts'
import type { RunningService } from './start-service.ts'
import { endOnSignal, stopSignal } from './stop-signal.ts'

interface Service<Settings, Context> {
  name: string
  loadSettings(environment: NodeJS.ProcessEnv): Settings
  openContext(settings: Settings): Promise<Context>
  start(context: NoInfer<Context>): Promise<RunningService & { url?: string }>
  /** Beside the service's own readiness. */
  checks?(context: NoInfer<Context>): Record<string, ReadinessCheck>
}

export async function runService<
  Settings extends { healthPort: number; healthHost: string },
  Context extends { logger: Logger; metrics: Metrics } & AsyncDisposable,
>({ name, loadSettings, openContext, start, checks }: Service<Settings, Context>): Promise<void> {
  try {
    endOnSignal()
    countBuffersWithHeap()
    const settings = loadSettings(process.env)
    await using context = await openContext(settings)
    let ready = () => false
    // Opened first and closed last: a service that starts or drains is alive, and not ready.
    await using health = await openHealthServer({
      port: settings.healthPort,
      host: settings.healthHost,
      checks: { [name]: () => ready(), ...checks?.(context) },
      metrics: context.metrics,
    })
    await using service = await start(context)
    ready = service.ready
    context.logger.info({ healthUrl: health.url, url: service.url }, `${name} is ready`)
    await stopSignal()
  } catch (error) {
    reportFatal(error)
  }
}
