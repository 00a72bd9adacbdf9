/**
 * Probes ejected backends when their interval is over, so that no client's request has to find out whether they are
 * back. A backend that responds becomes half-open; one that does not is ejected for longer. The router
 * also probes a backend that fails at repeats of one request. If its probe fails, the fault is not the request's.
 */

import { isDoubted } from './core/backend-health.ts'
import type { Backend, BackendRegistry } from './backend-registry.ts'
import type { ConcurrencyLimiter } from './concurrency-limiter.ts'
import type { RouterMetrics } from './metrics.ts'

const LOOK_EVERY_MS = 250
/** A probe in time for the end of the interval. */
const PROBE_AHEAD_MS = 300
/** A backend in doubt is probed this often at most. */
const DOUBTED_EVERY_MS = 5_000

export function startProbes(
  backendRegistry: BackendRegistry,
  limiter: Pick<ConcurrencyLimiter, 'recordProbe'>,
  metrics: RouterMetrics,
): Disposable {
  /** By backend, the end of the ejection that it was last probed for. */
  const probedFor = new WeakMap<Backend, number>()
  const probedAtMs = new WeakMap<Backend, number>()

  async function probe(backend: Backend): Promise<void> {
    const startedAtMs = performance.now()
    probedFor.set(backend, backend.health.ejectedUntilMs)
    probedAtMs.set(backend, startedAtMs)
    const found = await backend.client.probe()
    metrics.health(backend.config.id, limiter.recordProbe(backend, startedAtMs, found))
  }

  const timer = setInterval(() => {
    const nowMs = performance.now()
    for (const backend of backendRegistry.backends()) {
      const { ejectedUntilMs, halfOpen, halfOpenAttempt } = backend.health
      // A look may come late, so a probe is due as long as no request tries the backend.
      const isDue = halfOpen && halfOpenAttempt === null && ejectedUntilMs - nowMs < PROBE_AHEAD_MS
      if (isDue && probedFor.get(backend) !== ejectedUntilMs) void probe(backend)
      const lastMs = probedAtMs.get(backend) ?? -Infinity
      if (nowMs - lastMs >= DOUBTED_EVERY_MS && isDoubted(backend.health, lastMs)) void probe(backend)
    }
  }, LOOK_EVERY_MS)
  timer.unref()

  return { [Symbol.dispose]: () => clearInterval(timer) }
}
