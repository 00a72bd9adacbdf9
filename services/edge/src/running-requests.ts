/**
 * The requests that this edge runs: their reservations are renewed while they run, so that only those of a dead edge
 * lapse, and a stopping edge knows what it still has to finish.
 */

import type { EdgeAdmission } from '@gateway/admission/edge'
import type { Logger } from '@gateway/service/logger'

export const LEASE_MS = 30_000
const RENEW_EVERY_MS = LEASE_MS / 3

export interface RunningRequests extends Disposable {
  readonly count: number
  begin(request: { account: string; requestId: string }): void
  end(requestId: string): void
  /** Resolves when nothing runs any more, or after `timeoutMs`. */
  drained(timeoutMs: number): Promise<void>
}

export function trackRunningRequests(admission: EdgeAdmission, logger: Logger): RunningRequests {
  const running = new Map<string, { account: string; requestId: string }>()
  const waiters = new Set<() => void>()

  const renewal = setInterval(() => {
    if (running.size === 0) return
    admission.renew([...running.values()], LEASE_MS).catch((error: unknown) => {
      logger.warn({ err: error, running: running.size }, 'reservations were not renewed; the next renewal may still be in time')
    })
  }, RENEW_EVERY_MS)

  return {
    get count() {
      return running.size
    },
    begin: (request) => void running.set(request.requestId, request),
    end(requestId) {
      running.delete(requestId)
      if (running.size === 0) for (const resolve of waiters) resolve()
    },
    drained(timeoutMs) {
      if (running.size === 0) return Promise.resolve()
      return new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer)
          waiters.delete(done)
          resolve()
        }
        const timer = setTimeout(done, timeoutMs)
        waiters.add(done)
      })
    },
    [Symbol.dispose]: () => clearInterval(renewal),
  }
}
