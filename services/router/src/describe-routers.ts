/**
 * Serves an operator's request for the state of the backends. Each router has learnt their health from its own traffic.
 * So the router that receives the request queries all live routers, and responds with the reports that came in time.
 */

import { hostname } from 'node:os'
import type { Bus } from '@gateway/bus/port'
import type { BackendView, RouterView, ShowRoutersReply } from '@gateway/contracts/routers-api'
import type { Logger } from '@gateway/telemetry/logger'
import type { Metrics } from '@gateway/telemetry/metrics'
import { rpcClient } from '@gateway/rpc/client'
import { openQueryAll } from '@gateway/rpc/query-all'
import { serve, type Handlers } from '@gateway/rpc/server'
import { viewHealth, type Clocks } from './core/backend-health.ts'
import type { Backend, BackendRegistry } from './backend-registry.ts'
import type { RouterContext } from './router-context.ts'

export interface DescribedRouter {
  bus: Bus
  logger: Logger
  metrics: Metrics
  router: Pick<RouterContext, 'backendRegistry' | 'limiter' | 'jobs' | 'draining'>
  configRevision(): string
  /** The other live routers. */
  others(): Iterable<string>
  /** Serves the other procedures. */
  handlers: Omit<Handlers<'router'>, 'routersShow'>
}

export async function describeRouters(described: DescribedRouter): Promise<AsyncDisposable> {
  const { bus, others } = described
  const router = rpcClient('router', bus)
  await using starting = new AsyncDisposableStack()
  starting.use(
    await router.subscribe('routersDescribe', ({ question }) => {
      router.publish('routersDescribed', { question, view: viewRouter(described) })
    }),
  )
  const { query } = starting.use(
    await openQueryAll<object, RouterView>({
      publish: (question) => router.publish('routersDescribe', question),
      subscribe: (onReply) => router.subscribe('routersDescribed', onReply),
      nameOf: (view) => view.router,
      self: bus.processId,
      others,
    }),
  )

  async function routersShow(): Promise<ShowRoutersReply> {
    const { views, known } = await query({})
    return { routers: views.toSorted((a, b) => (a.router < b.router ? -1 : 1)), alive: known }
  }

  starting.use(await serve(described, 'router', { ...described.handlers, routersShow }))
  return starting.move()
}

function viewRouter({ bus, router, configRevision }: DescribedRouter): RouterView {
  const clocks: Clocks = { nowMs: performance.now(), wallMs: Date.now() }
  return {
    router: bus.processId,
    host: hostname(),
    pid: process.pid,
    configRevision: configRevision(),
    draining: router.draining,
    jobs: router.jobs.size,
    waiting: router.limiter.waiting,
    backends: [...router.backendRegistry.backends()].map((backend) =>
      viewBackend(router.backendRegistry, backend, clocks),
    ),
  }
}

function viewBackend(backendRegistry: BackendRegistry, backend: Backend, clocks: Clocks): BackendView {
  const targets = [...backendRegistry.pools()]
    .flatMap((pool) => pool.targets)
    .filter((target) => target.backend === backend)
  // A model that several pools use has one state.
  const models = new Map(targets.map(({ model, state }) => [model, viewHealth(state.health, clocks)]))
  return {
    backend: backend.config.id,
    ...(backend.control === undefined ? viewHealth(backend.health, clocks) : { state: backend.control, untilMs: null }),
    control: backend.control ?? null,
    outstanding: backend.capacity.outstanding,
    places: backend.capacity.slots,
    models: [...models].filter(([, { state }]) => state !== 'healthy').map(([model, health]) => ({ model, ...health })),
  }
}
