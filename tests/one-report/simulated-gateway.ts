/**
 * One request through an edge's relay, two routers and their backends. All code is real; the network, the clock and the
 * sockets of backends and client are simulated. The test takes each step itself.
 */

import type { EdgeAdmission, QuotaStatus } from '@gateway/admission/port'
import { openMemoryBus } from '@gateway/bus/memory'
import type { Bus } from '@gateway/bus/port'
import { backendConfig, planConfig, poolConfig, servedModelConfig, type GatewayConfig } from '@gateway/contracts/config'
import type { JobHeader } from '@gateway/contracts/job'
import type { UsageBatch, UsageEvent } from '@gateway/contracts/usage-event'
import { createLogger } from '@gateway/telemetry/logger'
import { createMetrics } from '@gateway/telemetry/metrics'
import { NO_SPAN, NO_TRACING } from '@gateway/telemetry/tracing'
import { vi } from 'vitest'
import { InFlightList } from '../../packages/in-flight/src/collections.ts'
import type { Admitted } from '../../services/edge/src/admission/admit.ts'
import { LEAST_BYTES_IN_FLIGHT, trackBytesInFlight } from '../../services/edge/src/http/memory-budget.ts'
import { httpClient } from '../../services/edge/src/relay/http-client.ts'
import type { EdgeContext } from '../../services/edge/src/edge-context.ts'
import type { Reported } from '../../services/edge/src/relay/settle.ts'
import { openLoadShedder } from '../../services/edge/src/http/load-shedder.ts'
import { edgeMetrics } from '../../services/edge/src/metrics.ts'
import { relayResponse } from '../../services/edge/src/relay/relay-response.ts'
import { trackRunningRequests } from '../../services/edge/src/admission/running-requests.ts'
import { plannedJob } from '../../services/edge/test/planned-job.ts'
import { unused } from '../../services/edge/test/unused.ts'
import { ResponseMemory } from '../../services/router/src/response-memory.ts'
import { openBackendRegistry } from '../../services/router/src/backend-registry.ts'
import { serveJob } from '../../services/router/src/handlers/serve-job.ts'
import { routerMetrics } from '../../services/router/src/metrics.ts'
import { openConcurrencyLimiter } from '../../services/router/src/concurrency-limiter.ts'
import { openUsageReports } from '../../services/router/src/report-usage.ts'
import { openStateSecrets } from '../../services/router/src/state-secrets.ts'
import type { RouterContext } from '../../services/router/src/router-context.ts'
import { openShortageReports } from '../../services/router/src/report-to-operator.ts'
import { caller, driveBackends, WORD, type DrivenCall } from './backend-calls.ts'
import { simulateClient, type SimulatedClient } from './simulated-client.ts'
import { simulateNetwork, type SimulatedNetwork } from './simulated-network.ts'

export const ROUTERS = 2
export const PROMPT_ESTIMATE = 11
const DEADLINE_MS = 60_000
const KEY_HASH = 'hash'

const neverCalled = (): never => {
  throw new Error('the relay has called admission for more than renewals and ends')
}

/** Windows so small that a slow reader fills them with a few words. */
const TUNING = { streamWindowBytes: 600, ackEveryBytes: 100, frameBytes: 400 }

export interface Plan {
  stream: boolean
  /** Backends report usage; otherwise the router has to count. */
  reportsUsage: boolean
}

export type Process = 'edge' | number

export interface SimulatedGateway extends AsyncDisposable {
  readonly network: SimulatedNetwork
  readonly client: SimulatedClient
  readonly calls: readonly DrivenCall[]
  readonly dead: ReadonlySet<Process>
  /** The events that the ledger's stream has stored. */
  readonly reports: readonly UsageEvent[]
  /** The edge's corrections of the reservation. */
  readonly finished: readonly { charge: number; tokens: number }[]
  /** The edge still counts it as running. */
  readonly isRunning: boolean
  /** The relay has returned, with its error where it has one. */
  readonly outcome: { error: unknown } | null
  /** The number of the last dispatch that left the edge. */
  readonly lastAttempt: number
  /** An edge or a router has taken the other one for dead. */
  readonly hasLost: boolean
  /** The edge has taken a router for dead. */
  readonly hasLostRouter: boolean
  readonly isCut: boolean
  /** The number of words that were written to the client. */
  readonly wordsSeen: number
  /** Makes the ledger's stream store all that the edge has reported so far. */
  store(): void
  kill(process: Process): void
  /** The request's key is revoked. */
  cut(): void
  /** Lets everything happen that is due. */
  settle(): Promise<void>
  wait(ms: number): Promise<void>
}

const CONFIG: GatewayConfig = {
  revision: 'r1',
  backends: [
    backendConfig.parse({
      id: 'a',
      url: 'http://backend.test/v1',
      timeouts: { connectMs: 300_000, firstByteMs: 300_000, idleMs: 300_000 },
      capabilities: ['chat'],
    }),
  ],
  pools: [poolConfig.parse({ id: 'spark', targets: [{ backend: 'a', model: 'm' }] })],
  models: [],
  plans: [],
}

export async function simulateGateway({ stream, reportsUsage }: Plan): Promise<SimulatedGateway> {
  const opened = new AsyncDisposableStack()
  const network = simulateNetwork()
  const client = simulateClient()
  const calls: DrivenCall[] = []
  const dead = new Set<Process>()
  const reports: UsageEvent[] = []
  const finished: { charge: number; tokens: number }[] = []
  const logger = createLogger({ service: 'test', level: 'silent' })
  const admission: EdgeAdmission = {
    admit: neverCalled,
    async finish({ charge, tokens }) {
      if (!dead.has('edge')) finished.push({ charge, tokens })
    },
    renew: () => Promise.resolve([]),
    partOf: neverCalled,
    authenticate: neverCalled,
  }
  const running = opened.use(trackRunningRequests(admission, logger))
  let outcome: { error: unknown } | null = null
  let lastAttempt = 0
  let isCut = false
  let unstored: (() => void)[] = []
  driveBackends(calls, reportsUsage)

  const edgeBus = opened.use(await openMemoryBus({ hub: network.hub, tuning: TUNING }))
  const routerBuses = await Promise.all(Array.from({ length: ROUTERS }, openRouter))
  const job = plannedJob({ stream, promptTokensEstimate: PROMPT_ESTIMATE })
  const edge = openEdge()

  /** The dead report nothing. */
  function report(process: Process, events: readonly UsageEvent[]): Promise<void> {
    if (!dead.has(process)) reports.push(...events)
    return Promise.resolve()
  }

  /** An edge may die before its report is stored. */
  function reportFromEdge(event: UsageEvent): Reported {
    const { promise, resolve } = Promise.withResolvers<void>()
    unstored.push(() => void report('edge', [event]).then(resolve))
    return { inTime: promise, stored: promise }
  }

  async function openRouter(_: unknown, index: number) {
    const bus = opened.use(await openMemoryBus({ hub: network.hub, tuning: TUNING }))
    const publisher = {
      durable: {
        publish: (_subject: string, payload: Uint8Array) =>
          report(index, (JSON.parse(Buffer.from(payload).toString()) as UsageBatch).events),
      },
    } as unknown as Bus
    const backendRegistry = openBackendRegistry({})
    backendRegistry.apply(CONFIG)
    const router: RouterContext = {
      bus,
      logger,
      backendRegistry,
      limiter: openConcurrencyLimiter(),
      tokens: {
        count: async (text: string) => text.split(WORD).length - 1,
        textsOf: async () => [],
        close: async () => {},
      },
      stateSecrets: openStateSecrets(bus, logger),
      reports: openUsageReports(publisher, logger, () => {}),
      responseMemory: new ResponseMemory(64 * 1024 * 1024),
      subscriptions: { takes: () => true, limit: Infinity, [Symbol.dispose]() {} },
      draining: false,
      expired: false,
      jobs: new InFlightList(),
      metrics: routerMetrics(createMetrics({ service: 'router' })),
      shortages: openShortageReports(logger),
      tracer: NO_TRACING,
    }
    opened.use(
      await bus.serveJobs('job.spark', 'routers', (incoming) => {
        const { attempt } = JSON.parse(Buffer.from(incoming.header).toString()) as JobHeader
        caller.run({ router: index, attempt }, () => serveJob(router, incoming))
      }),
    )
    return bus
  }

  /** Every member of an edge stands here, so that nobody adds one and leaves it out of these tests unseen. */
  function openEdge(): EdgeContext {
    const bus = Object.create(edgeBus, {
      dispatch: {
        value: (...[offer, events]: Parameters<Bus['dispatch']>) => {
          lastAttempt = (JSON.parse(Buffer.from(offer.header).toString()) as JobHeader).attempt
          return edgeBus.dispatch(offer, events)
        },
      },
    }) as Bus
    return {
      bus,
      bytes: trackBytesInFlight(
        LEAST_BYTES_IN_FLIGHT,
        () => '',
        () => {},
      ),
      largeBodies: unused('largeBodies'),
      clientNetwork: () => '',
      metrics: edgeMetrics(createMetrics({ service: 'edge' })),
      tracer: NO_TRACING,
      logger,
      admission,
      allowanceLines: unused('allowanceLines'),
      running,
      shedder: opened.use(openLoadShedder()),
      usage: { report: reportFromEdge },
      config: unused('config'),
      settings: unused('settings'),
      verifySignIn: unused('verifySignIn'),
      verifyPerson: unused('verifyPerson'),
      adminKeys: unused('adminKeys'),
      callerLines: unused('callerLines'),
      clientAddress: () => '',
      keys: unused('keys'),
      metering: unused('metering'),
      operator: unused('operator'),
      configViews: unused('configViews'),
      plans: unused('plans'),
      figures: unused('figures'),
      countAtBackends: unused('countAtBackends'),
      asides: unused('asides'),
      idempotency: unused('idempotency'),
      sockets: unused('sockets'),
      receipts: unused('receipts'),
      traffic: unused('traffic'),
      edgeFigures: unused('edgeFigures'),
    }
  }

  const measured = {
    requestId: job.requestId,
    startedAtMs: 0,
    model: '',
    account: '',
    backend: '',
    firstTokenMs: null,
    traffic: null,
    failure: null,
    metrics: edge.metrics,
    span: NO_SPAN,
  }
  const relay = {
    admitted: ADMITTED,
    notices: {},
    job,
    body: Buffer.from('{"messages":[]}'),
    keyHash: KEY_HASH,
    deadlineMs: DEADLINE_MS,
    endpoint: '/',
    measured,
    receipt: null,
  }
  const response = Object.assign(client.response, { locals: { measured } })
  relayResponse(edge, relay, httpClient(response, job)).then(
    () => (outcome = { error: null }),
    (error: unknown) => (outcome = { error }),
  )

  const processes: [Process, Bus & { counters: { jobsLost: number } }][] = [
    ['edge', edgeBus],
    ...routerBuses.map((bus, index): [Process, typeof bus] => [index, bus]),
  ]
  const gateway: SimulatedGateway = {
    network,
    client,
    calls,
    dead,
    reports,
    finished,
    get isRunning() {
      return running.count > 0
    },
    get outcome() {
      return outcome
    },
    get lastAttempt() {
      return lastAttempt
    },
    get hasLostRouter() {
      return edgeBus.counters.jobsLost > 0
    },
    get isCut() {
      return isCut
    },
    get hasLost() {
      return edgeBus.counters.jobsLost > 0 || reports.some((event) => event.outcome === 'edge_lost')
    },
    get wordsSeen() {
      return client.text.split(JSON.stringify(WORD)).length - 1
    },
    kill(process) {
      if (dead.has(process)) return
      dead.add(process)
      network.kill(processes.find(([name]) => name === process)![1].processId)
      if (process === 'edge') client.leave()
      else for (const call of calls) if (call.router === process) call.lose()
    },
    store() {
      for (const done of unstored) done()
      unstored = []
    },
    cut() {
      isCut ||= running.count > 0
      running.cutKey(KEY_HASH)
    },
    async settle() {
      for (let turn = 0; turn < 4; turn++) await vi.advanceTimersByTimeAsync(0)
    },
    wait: async (ms) => void (await vi.advanceTimersByTimeAsync(ms)),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
  await gateway.settle()
  return gateway
}

const WINDOW = { limit: 100, remaining: 99, resetMs: 0 }
const QUOTA_STATUS: QuotaStatus = {
  plan: 'free',
  planVersion: 1,
  window: '2026-11',
  windowResetAtMs: 0,
  used: 0,
  limit: 1_000_000,
  overage: false,
  requests: WINDOW,
  tokens: WINDOW,
  day: null,
  nowMs: 0,
}
const ADMITTED: Admitted = {
  policy: null,
  plan: planConfig.parse({ slug: 'free', limit: 1_000, rpm: 100, tpm: 100 }),
  lane: servedModelConfig.parse({ id: 'svc-instant', type: 'chat', pool: 'spark', multiplier: 1 }),
  price: plannedJob().price,
  estimate: { maxPromptTokens: 20, maxOutputTokens: 80, usualPromptTokens: PROMPT_ESTIMATE, usualTokens: 30 },
  worstCharge: 100_000,
  quotaStatus: QUOTA_STATUS,
  waitedMs: 0,
}
