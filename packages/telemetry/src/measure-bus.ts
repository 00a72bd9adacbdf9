/**
 * Opens a bus whose counts and waits stand among the process' metrics.
 */

import type { CountedBus } from '@gateway/bus/bus'
import type { BusCounters, BusMeasures } from '@gateway/bus/counters'
import { SHORT_BOUNDS, type Metrics } from './metrics.ts'

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
  metrics.observedCounter('gateway_bus_resumes_total', 'streams resumed after a gap', () => counters.resumesAsked)
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
    () => counters.durableRoomBytes,
  )
  metrics.observedGauge(
    'gateway_bus_durable_healthy',
    '0 while JetStream does not acknowledge; then edges refuse new work',
    () => (bus.durableHealthy ? 1 : 0),
  )
}
