/**
 * What an edge of its own process works on, opened in order and closed in reverse.
 */

import { openRedisAdmission } from '@gateway/admission/redis'
import { openNatsBus } from '@gateway/bus/nats'
import { usageStream } from '@gateway/contracts/subjects'
import { openConfigSource } from '@gateway/service/config-source'
import { createLogger } from '@gateway/service/logger'
import type { ProcessSettings } from './config.ts'
import type { EdgeParts } from './start.ts'

export async function openContext(settings: ProcessSettings): Promise<EdgeParts & AsyncDisposable> {
  const logger = createLogger({ service: 'edge', level: settings.logLevel })
  await using opening = new AsyncDisposableStack()
  const config = opening.use(await openConfigSource({ path: settings.configPath, logger }))
  const admission = opening.use(await openRedisAdmission({ url: settings.redisUrl }))
  const bus = opening.use(
    await openNatsBus({
      url: settings.natsUrl,
      name: 'edge',
      streams: [{ ...usageStream, replicas: settings.streamReplicas }],
      onStatus: (status) => logger.info({ status }, 'bus'),
    }),
  )
  const opened = opening.move()
  return { logger, config, admission, bus, settings: settings.edge, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}
