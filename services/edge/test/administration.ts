/** The administration routes of an edge on an open port, in front of a service of the test's own. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadDefaultConfig } from '@gateway/config/load-config'
import type { AdministerReply, AdministerRequest } from '@gateway/contracts/administration/envelope'
import { createLogger } from '@gateway/telemetry/logger'
import { createMetrics } from '@gateway/telemetry/metrics'
import { NO_TRACING } from '@gateway/telemetry/tracing'
import { administrationRoutes } from '../src/administration/routes.ts'
import { openCallerLines } from '../src/auth/caller-lines.ts'
import { openKnownAdminKeys } from '../src/auth/known-admin-keys.ts'
import { verifyPersonBy } from '../src/auth/rights.ts'
import { refuseEveryToken, type VerifyToken } from '../src/auth/verify-token.ts'
import { loadEdgeSettings } from '../src/config.ts'
import { createApp, type Routes } from '../src/create-app.ts'
import type { EdgeContext } from '../src/edge-context.ts'
import { clientNetwork, readClientAddress } from '../src/http/client-network.ts'
import { trackBytesInFlight, usualBytesInFlight } from '../src/http/memory-budget.ts'
import { edgeMetrics } from '../src/metrics.ts'

export type Administer = (question: AdministerRequest, isRead: boolean) => Promise<AdministerReply>

interface Options {
  administer: Administer
  /** A metering service; without it, none is there. */
  metering?: EdgeContext['metering']['administer']
  verifyToken?: VerifyToken
  environment?: NodeJS.ProcessEnv
  /** Beside those of administration. */
  routes?: Routes
}

/** Returns its address. */
export async function openAdministration(
  opened: AsyncDisposableStack,
  { administer, metering, verifyToken = refuseEveryToken, environment = {}, routes = {} }: Options,
): Promise<string> {
  const settings = loadEdgeSettings(environment)
  const config = { current: loadDefaultConfig().config }
  const adminKeys = openKnownAdminKeys()
  const edge = {
    settings,
    config,
    keys: { administer },
    metering: { administer: metering },
    adminKeys,
    callerLines: openCallerLines(adminKeys),
    verifyPerson: verifyPersonBy(verifyToken, config),
    clientAddress: readClientAddress(settings.trustProxy),
    bytes: trackBytesInFlight(usualBytesInFlight(), clientNetwork(settings.trustProxy), () => {}),
    metrics: edgeMetrics(createMetrics({ service: 'edge' })),
    tracer: NO_TRACING,
    logger: createLogger({ service: 'edge', level: 'silent' }),
  } as unknown as EdgeContext
  const server = createServer(createApp(edge, { ...administrationRoutes, ...routes })).listen(0, '127.0.0.1')
  await once(server, 'listening')
  opened.defer(async () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
