/**
 * Runs a service as its own process: reads the common settings, opens logger, metrics and bus, starts the service, and stops it
 * on a signal.
 */

import type { CountedBus } from '@gateway/bus/bus'
import { openNatsBus } from '@gateway/bus/nats'
import { createLogger, type Logger } from '@gateway/telemetry/logger'
import { createProcessMetrics, measureBus } from '@gateway/telemetry/process-metrics'
import type { Metrics } from '@gateway/telemetry/metrics'
import type * as z from 'zod'
import { healthPort, variables } from './environment.ts'
import { openHealthServer, type ReadinessCheck } from './health.ts'
import { countBuffersWithHeap } from './memory.ts'
import { reportFatal } from './report-fatal.ts'
import type { RunningService } from './start-service.ts'
import { endOnSignal, stopSignal } from './stop-signal.ts'

export const processVariables = {
  PORT: variables.PORT,
  HEALTH_PORT: variables.HEALTH_PORT,
  HEALTH_HOST: variables.HEALTH_HOST,
  LOG_LEVEL: variables.LOG_LEVEL,
  NATS_URL: variables.NATS_URL,
  NATS_STREAM_REPLICAS: variables.NATS_STREAM_REPLICAS,
}

export function processSettings(parsed: z.infer<z.ZodObject<typeof processVariables>>) {
  return {
    healthPort: healthPort(parsed),
    healthHost: parsed.HEALTH_HOST,
    logLevel: parsed.LOG_LEVEL,
    natsUrl: parsed.NATS_URL,
    streamReplicas: parsed.NATS_STREAM_REPLICAS,
  }
}

type ProcessSettings = ReturnType<typeof processSettings>

type NatsStream = NonNullable<Parameters<typeof openNatsBus>[0]['streams']>[number]

interface OwnProcess {
  logger: Logger
  metrics: Metrics
  /** `streams`: the durable ones that the service writes or reads. */
  openBus(...streams: readonly Omit<NatsStream, 'replicas'>[]): Promise<CountedBus>
}

function ownProcess(service: string, { logLevel, natsUrl, streamReplicas }: ProcessSettings): OwnProcess {
  const logger = createLogger({ service, level: logLevel })
  const metrics = createProcessMetrics({ service })
  const onStatus = (status: object) => logger.info({ status }, 'bus')
  return {
    logger,
    metrics,
    openBus: (...named) => {
      const all = named.map((stream) => ({ ...stream, replicas: streamReplicas }))
      const streams = all.filter(({ lastOnly }) => !lastOnly)
      const keptStream = all.find(({ lastOnly }) => lastOnly)
      return measureBus(metrics, (measures) =>
        openNatsBus({ url: natsUrl, name: service, streams, keptStream, onStatus, measures }),
      )
    },
  }
}

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
