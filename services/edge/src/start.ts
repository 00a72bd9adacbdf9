/**
 * Starts the edge on what it is given: the same on embedded parts in one process and on NATS and Redis in a cluster.
 */

import type { EdgeAdmission } from '@gateway/admission/edge'
import type { Bus } from '@gateway/bus/port'
import type { ConfigSource } from '@gateway/service/config-source'
import type { Logger } from '@gateway/service/logger'
import type { RunningService } from '@gateway/service/start-service'
import { createApp } from './app.ts'
import { createKeysClient } from './clients/keys.ts'
import { createMeteringClient } from './clients/metering.ts'
import type { EdgeSettings } from './config.ts'
import { followCuts } from './follow-cuts.ts'
import { listen } from './listen.ts'
import { rememberPlans } from './remember-plans.ts'
import { createUsageReporter } from './report-usage.ts'
import { trackRunningRequests } from './running-requests.ts'
import { createVerifySignIn, refuseEveryToken } from './sign-in/verify-token.ts'

export interface EdgeParts {
  bus: Bus
  admission: EdgeAdmission
  config: ConfigSource
  settings: EdgeSettings
  logger: Logger
}

export interface RunningEdge extends RunningService {
  /** Where it listens: `http://127.0.0.1:8080`. */
  readonly url: string
}

/** Stopping takes nothing new, lets open answers finish for up to `drainMs`, then closes what is left. */
export async function startEdge(parts: EdgeParts): Promise<RunningEdge> {
  const { bus, admission, settings, logger } = parts
  const running = trackRunningRequests(admission, logger)
  const edge = {
    ...parts,
    running,
    verifySignIn: settings.signIn ? createVerifySignIn({ ...settings.signIn, logger }) : refuseEveryToken,
    keys: createKeysClient(bus),
    metering: createMeteringClient(bus),
    plans: rememberPlans(),
    usage: createUsageReporter(bus),
  }
  const cuts = await followCuts(bus, running, logger)
  const server = await listen(createApp(edge), settings)
  return {
    url: server.url,
    ready: () => bus.durableHealthy,
    async [Symbol.asyncDispose]() {
      server.stopAccepting()
      await running.drained(settings.drainMs)
      await server.close()
      await cuts[Symbol.asyncDispose]()
      running[Symbol.dispose]()
    },
  }
}
