/**
 * What any process tells of itself, under the names that Prometheus' own client libraries use.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Metrics } from './metrics.ts'

export function processMetrics(metrics: Metrics): void {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  const startedAt = Math.round(performance.timeOrigin / 1000)
  metrics.observedGauge('process_start_time_seconds', 'Start of the process, Unix time', () => startedAt)
  metrics.observedCounter('process_cpu_seconds_total', 'CPU time used, user and system', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  metrics.observedGauge('process_resident_memory_bytes', 'Resident memory', () => process.memoryUsage.rss())
  metrics.observedGauge('nodejs_heap_used_bytes', 'JavaScript heap in use', () => process.memoryUsage().heapUsed)
  metrics.observedGauge(
    'nodejs_eventloop_lag_p99_seconds',
    'Event loop delay since the last reading, 99th percentile',
    () => {
      const p99 = delay.percentile(99) / 1e9
      delay.reset()
      return p99
    },
  )
}
