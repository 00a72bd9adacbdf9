/**
 * A service as a process of its own: from its environment to its end on a signal.
 */

import type { Logger } from '@gateway/telemetry/logger'
import type { Metrics } from '@gateway/telemetry/metrics'
import { openHealthServer, type ReadinessCheck } from './health.ts'
import { countBuffersWithHeap } from './memory.ts'
import { ownProcess, type OwnProcess, type ProcessSettings } from './own-process.ts'
import { reportFatal } from './report-fatal.ts'
import type { RunningService } from './start-service.ts'
import { endOnSignal, stopSignal } from './stop-signal.ts'

/** The parts of a service, without those that every process has. */
type Opened<Parts> = Omit<Parts, 'logger' | 'metrics'>

interface Service<Settings, Parts> {
  name: string
  loadSettings(environment: NodeJS.ProcessEnv): Settings
  /** Opened in order, closed in reverse. */
  open(settings: NoInfer<Settings>, own: OwnProcess, opening: AsyncDisposableStack): Promise<NoInfer<Opened<Parts>>>
  start(parts: Parts): Promise<RunningService & { url?: string }>
  /** Beside the service's own readiness. */
  checks?(parts: NoInfer<Opened<Parts>>): Record<string, ReadinessCheck>
}

export async function runService<
  Settings extends ProcessSettings,
  Parts extends { logger: Logger; metrics?: Metrics },
>({ name, loadSettings, open, start, checks }: Service<Settings, Parts>): Promise<void> {
  try {
    endOnSignal()
    countBuffersWithHeap()
    const settings = loadSettings(process.env)
    const own = ownProcess(name, settings)
    const { logger, metrics } = own
    await using opening = new AsyncDisposableStack()
    const parts = await open(settings, own, opening)
    let ready = () => false
    // Opened first and closed last: a service that starts or drains is alive, and not ready.
    await using health = await openHealthServer({
      port: settings.healthPort,
      host: settings.healthHost,
      checks: { [name]: () => ready(), ...checks?.(parts) },
      metrics,
    })
    await using service = await start({ ...parts, logger, metrics } as unknown as Parts)
    ready = service.ready
    logger.info({ healthUrl: health.url, url: service.url }, `${name} is ready`)
    await stopSignal()
  } catch (error) {
    reportFatal(error)
  }
}
