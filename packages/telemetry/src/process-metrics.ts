/**
 * The metrics of any process, under the names of Prometheus' own client libraries.
 */

import { readdirSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import description from '../package.json' with { type: 'json' }
import { createMetrics, type Metrics } from './metrics.ts'

const RESOLUTION_MS = 10

/** A page that tells of the process as a whole, under this service's name. */
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

/** Where the system does not tell: none. */
function openFiles(): number | [] {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return []
  }
}

function observeEventLoop(metrics: Metrics): void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  metrics.observedGauge('nodejs_eventloop_lag_p99_seconds', 'delay of the event loop since the last reading', () => {
    // It measures the time between two ticks of a timer, the requested pause included.
    const p99Ms = delay.percentile(99) / 1e6 - RESOLUTION_MS
    delay.reset()
    return Math.max(0, p99Ms) / 1000
  })
}
