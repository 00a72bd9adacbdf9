/**
 * Starts the edge on the given parts: on embedded ones in one process, and on NATS and Redis in a cluster.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { EdgeAdmission } from '@gateway/admission/port'
import type { Bus } from '@gateway/bus/port'
import type { IdempotencyStore } from '@gateway/idempotency/port'
import type { ConfigSource } from '@gateway/config/config-source'
import type { Logger } from '@gateway/telemetry/logger'
import { createMetrics, type Metrics } from '@gateway/telemetry/metrics'
import { explainListenError } from '@gateway/service/explain-listen-error'
import type { RunningService } from '@gateway/service/start-service'
import { NO_TRACING, type Tracer } from '@gateway/telemetry/tracing'
import { LocalAdmissionFallback } from './admission/local-admission-fallback.ts'
import { openAllowanceLines } from './admission/allowance-lines.ts'
import { batchReleases } from './admission/batched-releases.ts'
import { createApp, type Routes, serveRow } from './create-app.ts'
import { trackBytesInFlight, usualBytesInFlight } from './http/memory-budget.ts'
import { openLargeBodies } from './requests/large-bodies.ts'
import {
  createKeysClient,
  createMeteringClient,
  createOperatorClient,
  createRoutersClient,
  openLedgerFigures,
} from './rpc/service-clients.ts'
import { openConfigViews } from './rpc/config-views.ts'
import { openBackendCounts } from './inference/count-at-backends.ts'
import type { EdgeSettings } from './config.ts'
import { createMinuteBuckets } from './core/minute-buckets.ts'
import { Traffic } from './core/traffic.ts'
import type { EdgeContext } from './edge-context.ts'
import { cacheResponseKeys } from './idempotency/response-keys.ts'
import { trackRunningResponses } from './idempotency/running-responses.ts'
import { openLoadShedder } from './http/load-shedder.ts'
import { listen } from './http/listen.ts'
import { refuseUnparsed } from './http/refuse-unparsed.ts'
import { edgeMetrics, observeBytes, observeShedding, observeRunning, observeSockets } from './metrics.ts'
import { administrationRoutes } from './administration/routes.ts'
import { openAccountCache } from './auth/account-cache.ts'
import { createUsageReporter } from './relay/settle.ts'
import { pages, routes } from './routes.ts'
import { cacheReceiptKeys } from './receipts/receipt-keys.ts'
import { followDeadKeys, trackRunningRequests } from './admission/running-requests.ts'
import { openCallerLines } from './auth/caller-lines.ts'
import { openKnownAdminKeys } from './auth/known-admin-keys.ts'
import { verifyPersonBy } from './auth/rights.ts'
import { createVerifyToken, refuseEveryToken, verifyOwner } from './auth/verify-token.ts'
import { openEdgeFigures } from './traffic/query-edges.ts'
import { clientNetwork, readClientAddress } from './http/client-network.ts'
import { openResponseSockets } from './websocket/response-sockets.ts'
import { refuseTurn, warmUp } from './websocket/side-turns.ts'
import { RESPONSES_PATH } from './websocket/turn-response.ts'

export { loadEdgeSettings, type EdgeSettings } from './config.ts'

interface EdgeParts {
  bus: Bus
  admission: EdgeAdmission
  idempotency: IdempotencyStore
  config: ConfigSource
  settings: EdgeSettings
  logger: Logger
  /** Where a process writes all its counts. */
  metrics?: Metrics
  tracer?: Tracer
}

interface RunningEdge extends RunningService {
  /** Where it listens: `http://127.0.0.1:8080`. */
  readonly url: string
  /** Requests without a complete response. */
  readonly inFlight: () => number
}

const LAST_WORDS_MS = 2_000
const MOST_ASIDE_ACCOUNTS = 100_000

/**
 * A stopping edge states so for `stopNoticeMs`. Then it takes no new connections, lets open responses finish for up to
 * `drainMs`, and closes the rest.
 */
export async function startEdge(parts: EdgeParts, table: Routes = routes): Promise<RunningEdge> {
  const { bus, config, settings, logger, metrics: page = createMetrics({ service: 'edge' }) } = parts
  const metrics = edgeMetrics(page)
  const keys = createKeysClient(bus)
  const metering = createMeteringClient(bus)
  const figures = openLedgerFigures(metering)
  const unitOf = (slug: string) => config.current.plans.find((plan) => plan.slug === slug)?.unit ?? 'tokens'
  const { edgesMax, signIn } = settings
  const store = batchReleases(parts.admission, logger)
  const allowanceLines = openAllowanceLines()
  const admission = new LocalAdmissionFallback({
    store,
    keys,
    metering,
    unitOf,
    running: () => running.reservations(),
    edgesMax,
    logger,
    onAdmitHere: metrics.admittedWithoutStore,
    onEnd: allowanceLines.ended,
  })
  const running = trackRunningRequests(admission, logger)
  observeRunning(page, running)
  const mostBytes = settings.bytesInFlightMax ?? usualBytesInFlight()
  const networkOf = clientNetwork(settings.trustProxy)
  const bytes = trackBytesInFlight(mostBytes, networkOf, metrics.shed)
  observeBytes(page, bytes)
  const largeBodies = openLargeBodies(metrics.shed)
  const shedder = openLoadShedder()
  observeShedding(page, shedder)
  const plans = openAccountCache()
  const sockets = openResponseSockets({ bytes, config, plans, clientNetwork: networkOf, settings })
  observeSockets(page, sockets)
  const runningResponses = await trackRunningResponses(bus, parts.idempotency, logger)
  const configViews = await openConfigViews(bus, () => config.current.revision)
  const verifyToken = signIn ? createVerifyToken({ ...signIn, logger }) : refuseEveryToken
  const traffic = new Traffic(Date.now())
  const edgeFigures = await openEdgeFigures({ bus, traffic, running, now: Date.now })
  const adminKeys = openKnownAdminKeys()
  const edge: EdgeContext = {
    ...parts,
    admission,
    allowanceLines,
    running,
    bytes,
    largeBodies,
    clientNetwork: networkOf,
    clientAddress: readClientAddress(settings.trustProxy),
    adminKeys,
    callerLines: openCallerLines(adminKeys),
    shedder,
    idempotency: { store: parts.idempotency, keys: cacheResponseKeys(keys), running: runningResponses },
    keys,
    metering,
    operator: createOperatorClient(bus),
    configViews,
    verifySignIn: verifyOwner(verifyToken),
    verifyPerson: verifyPersonBy(verifyToken, config),
    plans,
    sockets,
    figures,
    receipts: cacheReceiptKeys(keys),
    countAtBackends: openBackendCounts(createRoutersClient(bus).countTokens),
    asides: createMinuteBuckets(MOST_ASIDE_ACCOUNTS),
    usage: createUsageReporter(bus, figures.ended),
    metrics,
    traffic,
    edgeFigures,
    tracer: parts.tracer ?? NO_TRACING,
  }
  const deadKeys = await followDeadKeys(bus, [running, sockets], plans)
  const app = createApp(edge, { ...table, ...administrationRoutes, ...pages(settings) })
  const upgrades = sockets.upgradesTo(app, {
    create: app,
    warmUp: serveRow(edge, RESPONSES_PATH, { credential: 'key', body: 'large', handle: warmUp }),
    refuse: serveRow(edge, RESPONSES_PATH, { credential: 'key', handle: refuseTurn }),
  })
  const server = await listen(app, settings, refuseUnparsed(edge), upgrades).catch((error: unknown) => {
    throw explainListenError(error, settings, { host: 'HOST', port: 'PORT' })
  })
  let isStopping = false
  return {
    url: server.url,
    inFlight: () => running.count,
    ready: () => !isStopping && bus.durable.isHealthy(),
    async [Symbol.asyncDispose]() {
      isStopping = true
      server.retireConnections()
      await sleep(settings.stopNoticeMs)
      server.stopAccepting()
      const drainedByMs = performance.now() + settings.drainMs
      const closed = sockets.stop(settings.drainMs)
      await running.drained(settings.drainMs)
      await closed
      // A request whose caller is still being looked up does not run yet.
      await server.close(drainedByMs - performance.now())
      // The clients of cut connections have left: the edge waits for their routers' last words.
      await running.drained(LAST_WORDS_MS)
      await deadKeys[Symbol.asyncDispose]()
      await runningResponses[Symbol.asyncDispose]()
      await edgeFigures[Symbol.asyncDispose]()
      await configViews[Symbol.asyncDispose]()
      running[Symbol.dispose]()
      sockets[Symbol.dispose]()
      await store[Symbol.asyncDispose]()
      shedder[Symbol.dispose]()
      await largeBodies[Symbol.asyncDispose]()
    },
  }
}
