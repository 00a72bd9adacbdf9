/**
 * Asks ejected backends whether they are back when their interval is over, so that no client's request has to find
 * out. A backend that answers goes on trial with one request; one that does not is ejected for longer.
 */

import * as health from './core/backend-health.ts'
import type { Backend, Fleet } from './fleet.ts'
import type { RouterMetrics } from './metrics.ts'

const LOOK_EVERY_MS = 250
/** A probe in time for the end of the interval. */
const PROBE_AHEAD_MS = 300

export function startProbes(fleet: Fleet, metrics: RouterMetrics): Disposable {
  const probing = new Set<Backend>()

  async function probe(backend: Backend): Promise<void> {
    const startedAtMs = performance.now()
    probing.add(backend)
    const found = await backend.client.probe()
    probing.delete(backend)
    const before = backend.health
    backend.health = health.afterProbe(before, { startedAtMs }, found, performance.now(), Math.random())
    metrics.health(backend.config.id, health.changeOf(before, backend.health))
  }

  const timer = setInterval(() => {
    const nowMs = performance.now()
    for (const backend of fleet.backends()) {
      const { ejectedUntilMs, onTrial } = backend.health
      const isDue = onTrial && nowMs < ejectedUntilMs && ejectedUntilMs - nowMs < PROBE_AHEAD_MS
      if (isDue && !probing.has(backend)) void probe(backend)
    }
  }, LOOK_EVERY_MS)
  timer.unref()

  return { [Symbol.dispose]: () => clearInterval(timer) }
}
