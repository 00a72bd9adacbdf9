/**
 * Starts the router on the bus it is given: takes jobs of every pool of the config, and follows the config.
 *
 * Stopping takes nothing new, lets open jobs finish for up to DRAIN_MS, then fails the others. It leaves only when its
 * usage reports are stored.
 */

import type { Bus, IncomingJob } from '@gateway/bus/port'
import type { GatewayConfig } from '@gateway/contracts/config'
import { groups, subjects } from '@gateway/contracts/subjects'
import { InFlightList } from '@gateway/in-flight/collections'
import type { ConfigSource } from '@gateway/config/config-source'
import type { Logger } from '@gateway/telemetry/logger'
import { createMetrics, type Metrics } from '@gateway/telemetry/metrics'
import type { RunningService } from '@gateway/service/start-service'
import { NO_TRACING, type Tracer } from '@gateway/telemetry/tracing'
import { ResponseMemory, responseBytesOfThisProcess } from './response-memory.ts'
import { readDrainMs } from './config.ts'
import { hasFreeSlotAt, openBackendRegistry, type BackendRegistry } from './backend-registry.ts'
import { openTokenCounts } from './handlers/count-tokens.ts'
import { finishJobs, serveJob } from './handlers/serve-job.ts'
import { describeRouters } from './describe-routers.ts'
import { followControls } from './follow-controls.ts'
import { followRouters } from './follow-routers.ts'
import { openPoolSubscriptions } from './pool-subscriptions.ts'
import { observeRouter, routerMetrics } from './metrics.ts'
import { openConcurrencyLimiter, type ConcurrencyLimiter } from './concurrency-limiter.ts'
import { openProbes } from './probes.ts'
import { openUsageReports } from './report-usage.ts'
import type { RouterContext, RunningJob } from './router-context.ts'
import { openStateSecrets } from './state-secrets.ts'
import { openShortageReports } from './report-to-operator.ts'
import { openTokenCounter } from './tokens/count-tokens.ts'

export interface RouterParts {
  bus: Bus
  config: ConfigSource
  environment: NodeJS.ProcessEnv
  logger: Logger
  /** Where a process writes all its counts; a router of its own makes one. */
  metrics?: Metrics
  tracer?: Tracer
  /** Bytes that responses may hold at once; a part of the machine's memory when left out. */
  responseBytes?: number
}

export async function startRouter({
  bus,
  config,
  environment,
  logger,
  metrics = createMetrics({ service: 'router' }),
  tracer = NO_TRACING,
  responseBytes = responseBytesOfThisProcess(),
}: RouterParts): Promise<RunningService> {
  const drainMs = readDrainMs(environment)
  const backendRegistry = openBackendRegistry(environment)
  const limiter = openConcurrencyLimiter(() => probes.watch())
  const jobs = new InFlightList<RunningJob>()
  const counts = routerMetrics(metrics)
  const probes = openProbes(backendRegistry, limiter, counts)
  const turns = openPoolSubscriptions(counts.shed)
  observeRouter(metrics, { backendRegistry, limiter, jobs, subscriptions: turns })
  const router: RouterContext = {
    bus,
    logger,
    backendRegistry,
    limiter,
    tokens: openTokenCounter(),
    stateSecrets: openStateSecrets(bus, logger),
    responseMemory: new ResponseMemory(responseBytes),
    reports: openUsageReports(bus, logger, counts.tokens),
    draining: false,
    expired: false,
    jobs,
    subscriptions: turns,
    metrics: counts,
    shortages: openShortageReports(logger),
    tracer,
  }
  const subscriptions = takePools(bus, backendRegistry, limiter, serveJob.bind(null, router))
  const routers = await followRouters(bus, {
    onShare(share) {
      backendRegistry.setShare(share)
      limiter.wakeAll()
      subscriptions.follow().catch((error: unknown) => logger.error({ err: error }, 'pools could not be taken'))
    },
    held: () =>
      Object.fromEntries(
        [...backendRegistry.backends()].map(({ config: { id }, capacity }) => [id, capacity.outstanding]),
      ),
  })
  const description = await describeRouters({
    bus,
    logger,
    metrics,
    router,
    configRevision: () => config.current.revision,
    others: routers.others,
    handlers: { routersCountTokens: openTokenCounts(backendRegistry) },
  })
  const controls = await followControls({
    bus,
    logger,
    onChange(changed) {
      backendRegistry.setControls(changed)
      limiter.wakeAll()
    },
  })
  await subscriptions.follow(config.current)
  const following = config.onChange((changed) => {
    subscriptions
      .follow(changed)
      .catch((error: unknown) => logger.error({ err: error }, 'the new config is refused; the running one stays'))
  })
  const secretsAhead = router.stateSecrets.fetchAhead()

  return {
    ready: () => !router.draining,
    async [Symbol.asyncDispose]() {
      router.draining = true
      routers.leave()
      following[Symbol.dispose]()
      await subscriptions.close()
      await finishJobs(router, drainMs)
      await controls[Symbol.asyncDispose]()
      await description[Symbol.asyncDispose]()
      await routers[Symbol.asyncDispose]()
      await router.reports.finished()
      await bus.flush()
      probes[Symbol.dispose]()
      secretsAhead[Symbol.dispose]()
      turns[Symbol.dispose]()
      await backendRegistry.close()
      await router.tokens.close()
    },
  }
}

async function takePool(bus: Bus, pool: string, take: (job: IncomingJob) => void): Promise<AsyncDisposable> {
  const subscriptions = await Promise.all(
    [subjects.job(pool), subjects.compaction(pool)].map((subject) => bus.serveJobs(subject, groups.router, take)),
  )
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(subscriptions.map((subscription) => subscription[Symbol.asyncDispose]()))
    },
  }
}

/**
 * The subscriptions for each pool at whose backends this router has a slot. A change adds and removes only the pools
 * that differ.
 */
function takePools(
  bus: Bus,
  backendRegistry: BackendRegistry,
  limiter: Pick<ConcurrencyLimiter, 'wakeAll'>,
  take: (job: IncomingJob) => void,
) {
  const taken = new Map<string, AsyncDisposable>()
  let last = Promise.resolve()

  async function change(config: GatewayConfig | undefined): Promise<void> {
    // First the set of backends: a job of a new pool finds it there, and one of a removed pool is given back.
    if (config) {
      backendRegistry.apply(config)
      limiter.wakeAll()
    }
    const wanted = new Set<string>()
    for (const { id, targets } of backendRegistry.pools())
      if (targets.some(({ backend }) => hasFreeSlotAt(backend))) wanted.add(id)
    for (const [pool, subscription] of taken) {
      if (wanted.has(pool)) continue
      taken.delete(pool)
      await subscription[Symbol.asyncDispose]()
    }
    for (const pool of wanted) {
      if (!taken.has(pool)) taken.set(pool, await takePool(bus, pool, take))
    }
  }

  return {
    /** A new config, or none: other slots. Changes are made one after another. */
    follow(config?: GatewayConfig): Promise<void> {
      const followed = last.then(() => change(config))
      last = followed.catch(() => {})
      return followed
    },
    async close(): Promise<void> {
      await last
      await Promise.all([...taken.values()].map((subscription) => subscription[Symbol.asyncDispose]()))
    },
  }
}
