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
import { type AccountCache, setBounded } from '../auth/account-cache.ts'

export const LEASE_MS = 30_000
const RENEW_EVERY_MS = LEASE_MS / 3
/** A request that was admitted just before its key was revoked may be registered this much later. */
const REMEMBER_CUT_MS = 60_000

export interface RunningRequest {
  account: string
  requestId: string
  keyHash: string
  /** The edge repeats it to a store that has lost it. None: the client reads the response of another request. */
  reservation?: Omit<Reservation, 'account' | 'requestId'>
  stream: boolean
  /** None: the client reads the response of another request. */
  measured?: { readonly model: string; readonly backend: string }
  /** The version of the account's facts that admitted it. */
  planVersion?: number | undefined
  /** Ends the request now: its key was revoked. */
  cut(): void
}

export interface Reservation {
  account: string
  requestId: string
  worstCharge: number
  window: string
  /** The key of a project, whose own limits the request counts against. */
  keyId?: string | undefined
}

export type LiveCounts = Record<'projects' | 'models' | 'backends', Map<string, LiveCount>>

interface LiveCount {
  requests: number
  streams: number
}

export interface RunningRequests extends Disposable {
  readonly count: number
  /** Those of them that stream. */
  readonly streams: number
  /** Their number by account, model and backend. */
  live(): LiveCounts
  /** Their reservations. */
  reservations(): Reservation[]
  begin(request: RunningRequest): void
  end(requestId: string): void
  /** Cuts requests that run with this key, and those that are about to. `upTo`: only those of this version or an older one. */
  cutKey(keyHash: string, upTo?: number): void
  /** Resolves when nothing runs any more, or after `timeoutMs`. */
  drained(timeoutMs: number): Promise<void>
}

export function trackRunningRequests(admission: EdgeAdmission, logger: Logger): RunningRequests {
  const running = new InFlightMap<string, RunningRequest>()
  const cutKeys = new Map<string, { upTo: number; timer: NodeJS.Timeout }>()
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
    live: () => countLive(running.values()),
    reservations,
    begin(request) {
      running.set(request.requestId, request)
      if (isUpTo(request, cutKeys.get(request.keyHash)?.upTo ?? -1)) request.cut()
    },
    end(requestId) {
      running.delete(requestId)
      if (running.size === 0) onIdle()
    },
    cutKey(keyHash, upTo = Infinity) {
      const known = cutKeys.get(keyHash)
      clearTimeout(known?.timer)
      const timer = setTimeout(() => cutKeys.delete(keyHash), REMEMBER_CUT_MS).unref()
      cutKeys.set(keyHash, { upTo: Math.max(upTo, known?.upTo ?? -1), timer })
      for (const request of [...running.values()]) {
        if (request.keyHash === keyHash && isUpTo(request, upTo)) request.cut()
      }
    },
    async drained(timeoutMs) {
      if (running.size > 0) await atMost(timeoutMs, new Promise<void>((idle) => (onIdle = idle)))
    },
    [Symbol.dispose]() {
      clearInterval(renewal)
      for (const { timer } of cutKeys.values()) clearTimeout(timer)
    },
  }
}

function countLive(running: Iterable<RunningRequest>): LiveCounts {
  const counts: LiveCounts = { projects: new Map(), models: new Map(), backends: new Map() }
  const count = (of: Map<string, LiveCount>, name: string, stream: boolean) => {
    const { requests, streams } = of.get(name) ?? { requests: 0, streams: 0 }
    of.set(name, { requests: requests + 1, streams: streams + (stream ? 1 : 0) })
  }
  for (const { account, measured, stream } of running) {
    count(counts.projects, account, stream)
    if (measured) count(counts.models, measured.model, stream)
    // None responds yet.
    if (measured && measured.backend !== '') count(counts.backends, measured.backend, stream)
  }
  return counts
}

/** A request of unknown version joins the response of another one. */
function isUpTo({ planVersion = 0 }: RunningRequest, upTo: number): boolean {
  return planVersion <= upTo
}

const MOST_SUSPENDED = 10_000

/**
 * Follows the keys service's events about dead keys. The edge cuts a key's open responses, and lets those of a rotated key
 * finish. The tombstone in the admission store refuses the key, and so does the edge's cache where it calls a former primary.
 * A suspended key may be restored before the event comes again: a repeated event cuts nothing.
 */
export function followDeadKeys(
  bus: Bus,
  running: readonly Pick<RunningRequests, 'cutKey'>[],
  plans: AccountCache,
): Promise<AsyncDisposable> {
  const suspended = new Map<string, number>()
  return rpcClient('edge', bus).subscribe('keysInvalidated', ({ reason, keyHash, version }) => {
    if (reason === 'suspended' && version !== undefined) {
      if ((suspended.get(keyHash) ?? -1) >= version) return
      setBounded(suspended, keyHash, version, MOST_SUSPENDED)
      for (const holder of running) holder.cutKey(keyHash, version)
      return
    }
    plans.cacheDeadKey(keyHash)
    if (reason !== 'rotated') for (const holder of running) holder.cutKey(keyHash)
  })
}
