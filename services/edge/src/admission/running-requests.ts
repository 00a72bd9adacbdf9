/**
 * The requests that this edge runs. The edge renews their reservations, so that only those of a dead edge lapse. It cuts those
 * of a revoked key. A stopping edge knows the requests that it has to finish.
 */

import { InFlightMap } from '@gateway/in-flight/collections'
import type { EdgeAdmission } from '@gateway/admission/port'
import type { Bus } from '@gateway/bus/port'
import { atMost } from '@gateway/service/start-service'
import { rpcClient } from '@gateway/rpc/client'
import type { Logger } from '@gateway/telemetry/logger'
import type { AccountCache } from '../auth/account-cache.ts'

export const LEASE_MS = 30_000
const RENEW_EVERY_MS = LEASE_MS / 3
/** A request that was admitted just before its key was revoked may be registered this much later. */
const REMEMBER_CUT_MS = 60_000

export interface RunningRequest {
  account: string
  requestId: string
  keyHash: string
  /** The edge repeats it to a store that has lost it. None: the client reads the response of another request. */
  reservation?: { worstCharge: number; window: string }
  stream: boolean
  /** Ends the request now: its key was revoked. */
  cut(): void
}

export interface Reservation {
  account: string
  requestId: string
  worstCharge: number
  window: string
}

export interface RunningRequests extends Disposable {
  readonly count: number
  /** Those of them that stream. */
  readonly streams: number
  /** Their reservations. */
  reservations(): Reservation[]
  begin(request: RunningRequest): void
  end(requestId: string): void
  /** Cuts requests that run with this key, and those that are about to. */
  cutKey(keyHash: string): void
  /** Resolves when nothing runs any more, or after `timeoutMs`. */
  drained(timeoutMs: number): Promise<void>
}

export function trackRunningRequests(admission: EdgeAdmission, logger: Logger): RunningRequests {
  const running = new InFlightMap<string, RunningRequest>()
  const cutKeys = new Map<string, NodeJS.Timeout>()
  let onIdle = () => {}

  const reservations = (): Reservation[] =>
    [...running.values()].flatMap(({ account, requestId, reservation }) =>
      reservation ? { account, requestId, ...reservation } : [],
    )

  /** The edge repeats reservations only where the store does not know them: it has lost them, or was away. */
  async function renew(): Promise<void> {
    const held = reservations().map(({ account, requestId }) => ({ account, requestId }))
    if (held.length === 0) return
    const lost = new Set(await admission.renew(held, LEASE_MS))
    if (lost.size === 0) return
    const again = reservations().filter(({ requestId }) => lost.has(requestId))
    if (again.length > 0) await admission.renew(again, LEASE_MS)
  }

  const renewal = setInterval(() => {
    renew().catch((error: unknown) => {
      logger.warn(
        { err: error, running: running.size },
        'reservations were not renewed; the next renewal may be in time',
      )
    })
  }, RENEW_EVERY_MS)

  return {
    get count() {
      return running.size
    },
    get streams() {
      return running.values().reduce((count, { stream }) => count + (stream ? 1 : 0), 0)
    },
    reservations,
    begin(request) {
      running.set(request.requestId, request)
      if (cutKeys.has(request.keyHash)) request.cut()
    },
    end(requestId) {
      running.delete(requestId)
      if (running.size === 0) onIdle()
    },
    cutKey(keyHash) {
      clearTimeout(cutKeys.get(keyHash))
      cutKeys.set(keyHash, setTimeout(() => cutKeys.delete(keyHash), REMEMBER_CUT_MS).unref())
      for (const request of [...running.values()]) if (request.keyHash === keyHash) request.cut()
    },
    async drained(timeoutMs) {
      if (running.size > 0) await atMost(timeoutMs, new Promise<void>((idle) => (onIdle = idle)))
    },
    [Symbol.dispose]() {
      clearInterval(renewal)
      for (const timer of cutKeys.values()) clearTimeout(timer)
    },
  }
}

/**
 * Follows the keys service's events about dead keys. The edge cuts a key's open responses, and lets those of a rotated key
 * finish. The tombstone in the admission store refuses the key, and so does the edge's cache where it calls a former primary.
 */
export function followDeadKeys(
  bus: Bus,
  running: readonly Pick<RunningRequests, 'cutKey'>[],
  plans: AccountCache,
): Promise<AsyncDisposable> {
  return rpcClient('edge', bus).subscribe('keysInvalidated', ({ reason, keyHash }) => {
    plans.cacheDeadKey(keyHash)
    if (reason !== 'rotated') for (const holder of running) holder.cutKey(keyHash)
  })
}
