/**
 * Probes ejected backends when their interval is over, so that no client's request has to find out whether they are
 * back. A backend that responds becomes half-open; one that does not is ejected for longer. The router
 * also probes a backend that fails at repeats of one request. If its probe fails, the fault is not the request's.
 *
 * A backend needs a probe only after a failure. So the router looks at its backends from then on, until none can need one.
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

export interface Probes extends Disposable {
  /** A request has failed. */
  watch(): void
}

export function openProbes(
  backendRegistry: BackendRegistry,
  limiter: Pick<ConcurrencyLimiter, 'recordProbe'>,
  metrics: RouterMetrics,
): Probes {
  /** By backend, the end of the ejection that it was last probed for. */
  const probedFor = new WeakMap<Backend, number>()
  const probedAtMs = new WeakMap<Backend, number>()
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  async function probe(backend: Backend): Promise<void> {
    const startedAtMs = performance.now()
    probedFor.set(backend, backend.health.ejectedUntilMs)
    probedAtMs.set(backend, startedAtMs)
    const found = await backend.client.probe()
    metrics.health(backend.config.id, limiter.recordProbe(backend, startedAtMs, found))
    watch()
  }

  function watch(): void {
    if (!isClosed) timer ??= setInterval(look, LOOK_EVERY_MS).unref()
  }

  function look(): void {
    const nowMs = performance.now()
    let isOver = true
    for (const backend of backendRegistry.backends()) {
      const { ejectedUntilMs, halfOpen, halfOpenAttempt } = backend.health
      const lastMs = probedAtMs.get(backend) ?? -Infinity
      const isOut = halfOpen && probedFor.get(backend) !== ejectedUntilMs
      const isInDoubt = isDoubted(backend.health, lastMs)
      if (isOut || isInDoubt) isOver = false
      // A look may come late, so a probe is due as long as no request tries the backend.
      if (isOut && halfOpenAttempt === null && ejectedUntilMs - nowMs < PROBE_AHEAD_MS) void probe(backend)
      if (isInDoubt && nowMs - lastMs >= DOUBTED_EVERY_MS) void probe(backend)
    }
    if (!isOver) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    watch,
    [Symbol.dispose]() {
      isClosed = true
      clearInterval(timer)
    },
  }
}
