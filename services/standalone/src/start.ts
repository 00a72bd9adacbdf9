/**
 * Every service in one process: the same `start` entries as in a cluster, on embedded parts.
 *
 * PostgreSQL comes with npm and keeps its data under the data folder. Bus and admission live in memory, which loses nothing
 * that counts. A usage event is published when the ledger has committed it, and admission is filled again from PostgreSQL. The
 * first part opened is the last one closed: the edge finishes its responses while everything behind it still runs.
 */

import { join } from 'node:path'
import { openMemoryAdmission } from '@gateway/admission/memory'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { SIMULATED_BACKEND_VARIABLE } from '@gateway/contracts/default-config'
import { consumedAccountStream, usageStream } from '@gateway/contracts/subjects'
import { startEdge } from '@gateway/edge/start'
import { startEmbeddedPostgres } from '@gateway/embedded-postgres/start'
import { openMemoryIdempotency } from '@gateway/idempotency/memory'
import { startKeys, URGENT_CONNECTIONS } from '@gateway/keys/start'
import { startMetering } from '@gateway/metering/start'
import { openDatabase } from '@gateway/postgres/database'
import { startRouter } from '@gateway/router/start'
import { openConfigSource } from '@gateway/config/config-source'
import { openHealthServer } from '@gateway/service/health'
import { createLogger } from '@gateway/telemetry/logger'
import { countLapsedLeases, createProcessMetrics, measureBus } from '@gateway/telemetry/process-metrics'
import { inDataFolder, openDataFolder } from '@gateway/local/data-folder'
import { openAdminSocket, OPERATOR_SOCKET } from '@gateway/rpc/admin-socket'
import { openTracing } from '@gateway/telemetry/open-tracing'
import { startBackend } from '@gateway/stand-ins/backend'
import type { StandaloneSettings } from './config.ts'
import { startDevelopmentSignIn } from './development-sign-in.ts'
import { keepMasterSecret } from '@gateway/local/master-secret-file'

export interface Standalone extends AsyncDisposable {
  readonly url: string
  /** Whose sign-in tokens it takes. */
  readonly issuer: string
  /** Requests whose responses are not complete. */
  inFlight(): number
  /** A model that serves guests; undefined where none does. */
  readonly guestModel: string | undefined
}

const FIRST_CHOICE = 'svc-instant'

export async function startStandalone(settings: StandaloneSettings): Promise<Standalone> {
  const logger = createLogger({ service: 'standalone', level: settings.logLevel })
  const metrics = createProcessMetrics({ service: 'standalone' })
  await using opening = new AsyncDisposableStack()
  const tracer = opening.use(await openTracing('standalone', settings.tracing, logger))
  const backend = opening.use(await startBackend({ keepCalls: 0 }))
  const environment = { ...settings.environment, [SIMULATED_BACKEND_VARIABLE]: backend.url }
  const config = opening.use(
    await openConfigSource({
      path: settings.configPath,
      environment,
      resolves: ['backends', 'webhooks', 'exports'],
      logger,
      metrics,
    }),
  )
  const { dataDir } = settings
  await openDataFolder(dataDir)
  const log = (line: string) => logger.debug({ line }, 'postgres')
  const say = (line: string) => logger.warn(line)
  const [postgres, masterSecret] = await inDataFolder(
    dataDir,
    Promise.all([
      startEmbeddedPostgres({ directory: join(dataDir, 'postgres'), log, say }),
      settings.masterSecret ?? keepMasterSecret(dataDir),
    ]),
  )
  opening.use(postgres)
  const databaseUrl = postgres.url
  const database = opening.use(await openDatabase(databaseUrl))
  const urgent = opening.use(await openDatabase(databaseUrl, { poolSize: URGENT_CONNECTIONS }))
  const admission = opening.use(openMemoryAdmission({ onLapsed: countLapsedLeases(metrics) }))
  const idempotency = opening.use(openMemoryIdempotency())
  const hub = createMemoryHub({ streams: [usageStream, consumedAccountStream] })
  /** The values that each service shares with the process, under its own name. */
  const shared = async (service: string) => {
    const own = metrics.of(service)
    return {
      metrics: own,
      tracer,
      logger,
      bus: opening.use(await measureBus(own, (measures) => openMemoryBus({ hub, measures }))),
    }
  }

  const webhooks = { config, environment, smtpUrl: settings.smtpUrl }
  const exports = { config, environment }
  const [metering, keys] = await Promise.all([
    startMetering({ ...(await shared('metering')), admission, databaseUrl, database, webhooks, exports }),
    startKeys({ ...(await shared('keys')), admission, databaseUrl, database, urgent, config, masterSecret }),
  ])
  opening.use(metering)
  opening.use(keys)
  // Keys replies with the drained backends before the router takes a job.
  const router = await startRouter({ ...(await shared('router')), config, environment })
  opening.use(router)
  const signIn = settings.edge.signIn ?? (await inDataFolder(dataDir, startDevelopmentSignIn(settings, opening)))
  const edge = opening.use(
    await startEdge({
      ...(await shared('edge')),
      admission,
      idempotency,
      config,
      settings: { ...settings.edge, signIn },
    }),
  )
  const checks = { edge: edge.ready, router: router.ready, keys: keys.ready, metering: metering.ready }
  opening.use(await openHealthServer({ port: settings.healthPort, checks, metrics }))
  const door = join(dataDir, OPERATOR_SOCKET)
  opening.use(await openAdminSocket({ path: door, bus: opening.use(await openMemoryBus({ hub })), logger }))

  const opened = opening.move()
  const forGuests = config.current.models.filter(({ guest, type }) => guest && type === 'chat').map(({ id }) => id)
  const guestModel = forGuests.includes(FIRST_CHOICE) ? FIRST_CHOICE : forGuests[0]
  return {
    url: edge.url,
    issuer: signIn.issuer,
    guestModel,
    inFlight: edge.inFlight,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
