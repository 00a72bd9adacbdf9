/**
 * The metrics that services have in common. Those of any process have the names of Prometheus' own client libraries;
 * others are of its bus, or kept by several services.
 */

import { readdirSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { CountedBus } from '@gateway/bus/bus'
import type { BusCounters, BusMeasures } from '@gateway/bus/counters'
import type { TokenUsage } from '@gateway/contracts/usage'
import description from '../package.json' with { type: 'json' }
import { createMetrics, memoize, SHORT_BOUNDS, type Metrics } from './metrics.ts'

/** A page of metrics of the whole process, under this service's name. */
export function createProcessMetrics(of: { service: string }): Metrics {
  const metrics = createMetrics(of)
  metrics
    .gauge('gateway_build_info', 'the versions that run here; always 1', ['version', 'node'])
    .labels(description.version, process.versions.node)
    .set(1)
  const startedAt = Math.round(performance.timeOrigin / 1000)
  metrics.observedGauge('process_start_time_seconds', 'start of the process, Unix time', () => startedAt)
  metrics.observedCounter('process_cpu_seconds_total', 'CPU time, user and system', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  metrics.observedGauge('process_resident_memory_bytes', 'resident memory', () => process.memoryUsage.rss())
  metrics.observedGauge('nodejs_heap_used_bytes', 'JavaScript heap in use', () => process.memoryUsage().heapUsed)
  metrics.observedGauge('process_open_fds', 'open files and sockets', openFiles)
  observeEventLoop(metrics)
  return metrics
}

/** Returns nothing where the system does not report it. */
function openFiles(): number | [] {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return []
  }
}

/** Measures each turn without a timer, which would wake a process that has nothing else to do. */
function observeEventLoop(metrics: Metrics): void {
  const delay = monitorEventLoopDelay({ samplePerIteration: true })
  delay.enable()
  metrics.observedGauge(
    'nodejs_eventloop_lag_p99_seconds',
    'length of a turn of the event loop, since the last reading',
    () => {
      const p99Ms = delay.percentile(99) / 1e6
      delay.reset()
      return p99Ms / 1000
    },
  )
}

/** Opens a bus whose counts and waits stand among the process' metrics. */
export async function measureBus(
  metrics: Metrics,
  open: (measures: BusMeasures) => Promise<CountedBus>,
): Promise<CountedBus> {
  const acknowledge = metrics
    .histogram('gateway_bus_acknowledge_seconds', "publishing usage to JetStream's acknowledgement", SHORT_BOUNDS)
    .labels()
  const roundTrip = metrics
    .histogram('gateway_bus_round_trip_seconds', 'router to edge and back', SHORT_BOUNDS)
    .labels()
  const bus = await open({
    acknowledged: (waitedMs) => acknowledge.observe(waitedMs / 1_000),
    roundTrip: (tookMs) => roundTrip.observe(tookMs / 1_000),
  })
  observeCounters(metrics, bus)
  return bus
}

function observeCounters(metrics: Metrics, bus: CountedBus): void {
  const { counters } = bus
  const grouped = (name: string, help: string, label: string, names: Record<string, keyof BusCounters>) => {
    const read = () => Object.entries(names).map(([value, counter]) => [[value], counters[counter]] as const)
    metrics.observedCounter(name, help, read, [label])
  }
  grouped('gateway_bus_messages_total', 'messages `sent`, `received`, `malformed`', 'event', {
    sent: 'messagesSent',
    received: 'messagesReceived',
    malformed: 'messagesMalformed',
  })
  grouped(
    'gateway_bus_frames_total',
    'frames `sent`, `received`, `dropped` (repeated or after a gap), `resent`',
    'event',
    {
      sent: 'framesSent',
      received: 'framesReceived',
      dropped: 'framesDropped',
      resent: 'framesResent',
    },
  )
  grouped(
    'gateway_bus_jobs_total',
    'jobs `dispatched`, `unavailable` (no worker took it), `lost` (with their router)',
    'event',
    {
      dispatched: 'jobsDispatched',
      unavailable: 'jobsUnavailable',
      lost: 'jobsLost',
    },
  )
  grouped('gateway_bus_durable_total', 'usage messages `acknowledged`, `retried`', 'event', {
    acknowledged: 'durableAcknowledged',
    retried: 'durableRetried',
  })
  metrics.observedCounter('gateway_bus_resumes_total', 'streams resumed after a gap', () => counters.resumesRequested)
  metrics.observedCounter('gateway_bus_reconnects_total', 'connections to the broker', () => counters.reconnects)
  metrics.observedCounter('gateway_bus_pauses_total', 'times this process stood still', () => counters.pauses)
  metrics.observedGauge('gateway_bus_streams_open', 'answers under way', () => counters.streamsOpen)
  metrics.observedGauge('gateway_bus_durable_pending', 'unacknowledged usage messages', () => counters.durablePending)
  metrics.observedGauge(
    'gateway_bus_durable_backlog',
    'usage messages in the stream that metering has not taken',
    () => counters.durableBacklog,
  )
  metrics.observedGauge(
    'gateway_bus_durable_stored_bytes',
    "size of the usage stream before metering's latest sweep; 0 without a consumer",
    () => counters.durableStoredBytes,
  )
  metrics.observedGauge(
    'gateway_bus_durable_room_bytes',
    "the usage stream's limit; 0: none",
    () => counters.durableFreeBytes,
  )
  metrics.observedGauge(
    'gateway_bus_durable_healthy',
    '0 while JetStream does not acknowledge; then edges refuse new work',
    () => (bus.durable.isHealthy() ? 1 : 0),
  )
}

/**
 * Counts the tokens of ended requests by the model that served them. Cached tokens are part of the prompt's, reasoning
 * tokens part of the completion's.
 */
export function countTokens(metrics: Metrics): (model: string, usage: TokenUsage) => void {
  const tokens = metrics.counter(
    'gateway_tokens_total',
    '`prompt` (of it `cached`) and `completion` (of it `reasoning`); reported by edges, and by routers for lost edges',
    ['model', 'kind'],
  )
  const ofModel = memoize((model) => ({
    prompt: tokens.labels(model, 'prompt'),
    completion: tokens.labels(model, 'completion'),
    cached: tokens.labels(model, 'cached'),
    reasoning: tokens.labels(model, 'reasoning'),
  }))
  return (model, usage) => {
    const cells = ofModel(model)
    cells.prompt.add(usage.promptTokens)
    cells.completion.add(usage.completionTokens)
    cells.cached.add(usage.cachedTokens)
    cells.reasoning.add(usage.reasoningTokens)
  }
}

/** Counts the requests and jobs that are refused so that the rest is served. */
export function countShed<Reason extends string>(
  metrics: Metrics,
  reasons: readonly Reason[],
): (reason: Reason) => void {
  const counter = metrics.counter(
    'gateway_shed_total',
    "refusals for overload: `late`, `routers_busy`, `no_room`, `sender_full`, `unread_answer`; a router's returned jobs: `late`",
    ['reason'],
  )
  const cells = new Map(reasons.map((reason) => [reason, counter.labels(reason)]))
  return (reason) => cells.get(reason)?.add()
}

export function observeShedLimit(metrics: Metrics, shedder: { readonly limit: number }): void {
  metrics.observedGauge(
    'gateway_intake_limit',
    'the most requests at an edge between arrival and router; for a router, jobs in one turn of its event loop',
    () => shedder.limit,
  )
}

export function observeStreams(metrics: Metrics, countStreams: () => number): void {
  metrics.observedGauge(
    'gateway_streams_in_flight',
    "streams under way, of edges and of routers; an autoscaler's metric",
    countStreams,
  )
}

/** Counts reservations of running requests that nobody renewed. Every process with an admission store uses it. */
export function countLapsedLeases(metrics: Metrics): (count: number) => void {
  const lapsed = metrics
    .counter(
      'gateway_admission_lapsed_leases_total',
      'reservations that nobody renewed: an edge died, or a router without a report',
    )
    .labels()
  return (count) => lapsed.add(count)
}
