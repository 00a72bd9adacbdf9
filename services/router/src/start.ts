/**
 * Starts the router on the bus it is given: takes jobs of every pool of the config, and follows the config.
 *
 * Stopping takes nothing new, lets open jobs finish for up to DRAIN_MS, then fails what is left, and leaves only when
 * its usage reports are stored.
 */

import type { Bus, IncomingJob } from '@gateway/bus/port'
import type { GatewayConfig } from '@gateway/contracts/config'
import { groups, subjects } from '@gateway/contracts/subjects'
import type { ConfigSource } from '@gateway/service/config-source'
import type { Logger } from '@gateway/service/logger'
import { createMetrics, type Metrics } from '@gateway/service/metrics'
import type { RunningService } from '@gateway/service/start-service'
import { setTimeout as sleep } from 'node:timers/promises'
import { readSettings } from './config.ts'
import { BackendFault } from './core/backend-fault.ts'
import { openFleet } from './fleet.ts'
import { serveJob } from './handlers/serve-job.ts'
import { describeRouters } from './describe-routers.ts'
import { followRouters } from './follow-routers.ts'
import type { Run } from './handlers/run.ts'
import { observeRouter, routerMetrics } from './metrics.ts'
import { openPlaces } from './places.ts'
import { startProbes } from './probes.ts'
import { openUsageReports } from './report-usage.ts'
import type { Router } from './router.ts'
import { openTokenCounter } from './tokens/count-tokens.ts'

export interface RouterParts {
  bus: Bus
  config: ConfigSource
  environment: NodeJS.ProcessEnv
  logger: Logger
  /** Where a process writes all its counts; a router of its own makes one. */
  metrics?: Metrics
}

export async function startRouter({
  bus,
  config,
  environment,
  logger,
  metrics = createMetrics({ service: 'router' }),
}: RouterParts): Promise<RunningService> {
  const { drainMs } = readSettings(environment)
  const fleet = openFleet(environment)
  const places = openPlaces()
  const runs = new Set<Run>()
  const counts = routerMetrics(metrics)
  observeRouter(metrics, { fleet, places, runs })
  const router: Router = {
    bus,
    logger,
    fleet,
    places,
    tokens: openTokenCounter(),
    reports: openUsageReports(bus, logger, counts.tokens),
    draining: false,
    expired: false,
    runs,
    metrics: counts,
  }
  const open = trackJobs(router)
  const intake = followPools(bus, open.take, (changed) => {
    fleet.apply(changed)
    places.wakeAll()
  })
  const routers = await followRouters(bus, (share) => {
    fleet.setShare(share)
    places.wakeAll()
  })
  const description = await describeRouters({
    bus,
    logger,
    metrics,
    router,
    configRevision: () => config.current.revision,
    alive: () => routers.count,
  })
  await intake.apply(config.current)
  const following = config.onChange((changed) => {
    intake
      .apply(changed)
      .catch((error: unknown) => logger.error({ err: error }, 'the new config is refused; the running one stays'))
  })
  const probes = startProbes(fleet, counts)

  return {
    ready: () => !router.draining,
    async [Symbol.asyncDispose]() {
      router.draining = true
      following[Symbol.dispose]()
      await intake.close()
      await open.drained(drainMs)
      await description[Symbol.asyncDispose]()
      await routers[Symbol.asyncDispose]()
      await router.reports.settled()
      await bus.flush()
      probes[Symbol.dispose]()
      await fleet.close()
      await router.tokens.close()
    },
  }
}

/** One subscription per pool; a change adds and removes only what it must. */
function followPools(bus: Bus, take: (job: IncomingJob) => void, applyToFleet: (config: GatewayConfig) => void) {
  const served = new Map<string, AsyncDisposable>()
  let last = Promise.resolve()

  async function change(config: GatewayConfig): Promise<void> {
    // First the fleet: a job of a new pool finds it there, and one of a removed pool is given back.
    applyToFleet(config)
    const wanted = new Set(config.pools.map((pool) => pool.id))
    for (const [pool, subscription] of served) {
      if (wanted.has(pool)) continue
      served.delete(pool)
      await subscription[Symbol.asyncDispose]()
    }
    for (const pool of wanted) {
      if (!served.has(pool)) served.set(pool, await bus.serveJobs(subjects.job(pool), groups.routers, take))
    }
  }

  return {
    /** Changes are made one after another. */
    apply(config: GatewayConfig): Promise<void> {
      const applied = last.then(() => change(config))
      last = applied.catch(() => {})
      return applied
    },
    async close(): Promise<void> {
      await last
      await Promise.all([...served.values()].map((subscription) => subscription[Symbol.asyncDispose]()))
    },
  }
}

/** After the time to finish, jobs get this long to send their failure. */
const FAREWELL_MS = 2_000

function trackJobs(router: Router) {
  const open = new Set<Promise<void>>()
  const allDone = () => Promise.all(open)

  return {
    take(job: IncomingJob): void {
      const done: Promise<void> = serveJob(job, router)
        .catch((error: unknown) => router.logger.error({ err: error }, 'a job could not be closed'))
        .finally(() => open.delete(done))
      open.add(done)
    },
    async drained(drainMs: number): Promise<void> {
      const timer = new AbortController()
      const patience = sleep(drainMs, 'expired' as const, { signal: timer.signal }).catch(() => 'done' as const)
      const end = await Promise.race([allDone(), patience])
      timer.abort()
      if (end !== 'expired') return
      router.expired = true
      for (const run of router.runs) run.exchange?.abort(new BackendFault('out_of_time', 'the router is stopping'))
      router.places.wakeAll()
      await Promise.race([allDone(), sleep(FAREWELL_MS, undefined, { ref: false })])
    },
  }
}
