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
    .histogram('gateway_bus_acknowledge_seconds', 'From publishing usage to its acknowledgement', SHORT_BOUNDS)
    .labels()
  const roundTrip = metrics
    .histogram('gateway_bus_round_trip_seconds', 'To a peer and back, through both event loops', SHORT_BOUNDS)
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
  grouped('gateway_bus_messages_total', 'Messages between processes', 'event', {
    sent: 'messagesSent',
    received: 'messagesReceived',
    malformed: 'messagesMalformed',
  })
  grouped('gateway_bus_frames_total', 'Frames of answers; dropped: came twice or after a gap', 'event', {
    sent: 'framesSent',
    received: 'framesReceived',
    dropped: 'framesDropped',
    resent: 'framesResent',
  })
  grouped('gateway_bus_jobs_total', 'Jobs sent to routers; lost: their router is gone', 'event', {
    dispatched: 'jobsDispatched',
    unavailable: 'jobsUnavailable',
    lost: 'jobsLost',
  })
  grouped('gateway_bus_durable_total', 'Usage messages; retried: sent again for want of an acknowledgement', 'event', {
    acknowledged: 'durableAcknowledged',
    retried: 'durableRetried',
  })
  metrics.observedCounter('gateway_bus_resumes_total', 'Streams resumed after a gap', () => counters.resumesAsked)
  metrics.observedCounter('gateway_bus_reconnects_total', 'Connections to the broker', () => counters.reconnects)
  metrics.observedCounter('gateway_bus_pauses_total', 'Times this process stood still', () => counters.pauses)
  metrics.observedGauge('gateway_bus_streams_open', 'Answers under way', () => counters.streamsOpen)
  metrics.observedGauge('gateway_bus_durable_pending', 'Usage messages not yet stored', () => counters.durablePending)
  metrics.observedGauge(
    'gateway_bus_durable_backlog',
    'Usage messages that wait in the stream to be consumed',
    () => counters.durableBacklog,
  )
  metrics.observedGauge(
    'gateway_bus_durable_stored_bytes',
    'Size of the stream of usage that this process consumes',
    () => counters.durableStoredBytes,
  )
  metrics.observedGauge(
    'gateway_bus_durable_room_bytes',
    'The size at which that stream refuses more; 0: no bound',
    () => counters.durableRoomBytes,
  )
  metrics.observedGauge('gateway_bus_durable_healthy', '1 while usage is being acknowledged', () =>
    bus.durableHealthy ? 1 : 0,
  )
}
