/**
 * A service in a process of its own: the settings that each of them reads, and its logger, its metrics and its bus.
 */

import type { CountedBus } from '@gateway/bus/bus'
import { openNatsBus } from '@gateway/bus/nats'
import type { usageStream, accountStream } from '@gateway/contracts/subjects'
import { createLogger, type Logger } from '@gateway/telemetry/logger'
import { createProcessMetrics, measureBus } from '@gateway/telemetry/process-metrics'
import type { Metrics } from '@gateway/telemetry/metrics'
import type * as z from 'zod'
import { healthPort, variables } from './environment.ts'

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

export type ProcessSettings = ReturnType<typeof processSettings>

export interface OwnProcess {
  logger: Logger
  metrics: Metrics
  /** `stream`: the durable one that the service writes or reads. */
  openBus(stream: typeof usageStream | typeof accountStream): Promise<CountedBus>
}

export function ownProcess(service: string, { logLevel, natsUrl, streamReplicas }: ProcessSettings): OwnProcess {
  const logger = createLogger({ service, level: logLevel })
  const metrics = createProcessMetrics({ service })
  const onStatus = (status: object) => logger.info({ status }, 'bus')
  return {
    logger,
    metrics,
    openBus: (stream) => {
      const streams = [{ ...stream, replicas: streamReplicas }]
      return measureBus(metrics, (measures) =>
        openNatsBus({ url: natsUrl, name: service, streams, onStatus, measures }),
      )
    },
  }
}
