/**
 * Admission while the shared store, or the part of it that holds the account, is away: this process decides, on state from
 * the state's owners. Accounts of other parts notice nothing.
 *
 * - The keys service states the key's state for each request, and the edge does not cache it: a revoke holds at once.
 * - Rates are this edge's share of the plan's, so that all edges together stay within it.
 * - The allowance counts the ledger's total, at most `TOTAL_MAX_AGE_MS` old, and each request that this edge runs, whether
 *   the store or the edge admitted it. A request counts once for each possible edge: the others may run as much.
 * - A request that the store has just refused stays refused.
 *
 * When the store is back, the next request goes to it, and the renewal of running requests repeats their reservations.
 *
 * The store may still apply a call that it did not confirm, at any time. So it may come to hold a request that the ledger
 * already has, and a charge of that would stay pending. The edge sends no charge of such a request, only its end.
 */

import {
  AdmissionUnavailableError,
  type AdmitDecision,
  type AdmitRequest,
  type EdgeAdmission,
  type KeyState,
  type RequestEnd,
  type RunningLease,
} from '@gateway/admission/port'
import { openMemoryAdmission } from '@gateway/admission/memory'
import type { PlanUnit } from '@gateway/contracts/usage'
import type { Logger } from '@gateway/telemetry/logger'
import { type KeysClient, type MeteringClient, shareCalls } from '../rpc/service-clients.ts'
import { cacheRefusals } from './cached-refusals.ts'
import { LedgerTotals } from './ledger-totals.ts'
import { LEASE_MS, type Reservation } from './running-requests.ts'

/** The edge calls a silent store again after this time: each call would cost its complete time limit. */
const LEAVE_ALONE_MS = 500

interface Parts {
  store: EdgeAdmission
  keys: KeysClient
  metering: MeteringClient
  unitOf(plan: string): PlanUnit
  /** The requests that this edge runs, with the most that each can cost. */
  running(): Reservation[]
  /** The most edges that ever run at once: each takes this share of the rates. */
  edgesMax: number
  logger: Logger
  /** This edge decided a request. */
  onAdmitHere(): void
}

/** The store's own port: callers do not learn which of the two decided. */
export class LocalAdmissionFallback implements EdgeAdmission {
  readonly #parts: Parts
  readonly #store: EdgeAdmission
  readonly #local = openMemoryAdmission()
  readonly #totals = new LedgerTotals()
  readonly #refusals = cacheRefusals()
  /** The requests that count in `#local`, and since when. */
  readonly #countedHere = new Map<string, number>()
  /** The requests whose reservation the store did not confirm, and since when. */
  readonly #unconfirmed = new Map<string, number>()
  /** The parts in which requests may run that do not count in `#local`. */
  readonly #mayRunUncounted = new Set<string>()
  /** The parts that the edge does not call, and until when. */
  readonly #leftAloneUntilMs = new Map<string, number>()
  /** Of state that the edge writes into `#local`. */
  #version = 0

  constructor(parts: Parts) {
    this.#parts = parts
    this.#store = parts.store
  }

  partOf(account: string): string {
    return this.#store.partOf(account)
  }

  admit(request: AdmitRequest): Promise<AdmitDecision> {
    return this.#orWithoutStore(
      request.account,
      () => this.#admitInStore(request),
      async (part, wasSent) => {
        const decision = await this.#admitHere(request, part)
        if (!holdsReservation(request)) return decision
        // The store may have admitted it all the same, or may yet.
        if (wasSent && decision.kind !== 'deny') this.#unconfirmed.set(request.requestId, performance.now())
        if (wasSent && decision.kind !== 'allow') this.#releaseInStore(request)
        return decision
      },
    )
  }

  async finish(end: RequestEnd & { account: string }): Promise<void> {
    const { account, requestId } = end
    const toStore = this.#unconfirmed.delete(requestId) ? { ...end, charge: 0 } : end
    if (!this.#countedHere.delete(requestId)) return this.#store.finish(toStore)
    this.#totals.ended(account, requestId)
    await this.#local.finish(end)
    // The store may hold it too: by an earlier call, or by the renewal when the store came back.
    await this.#store.finish(toStore).catch(() => {})
  }

  async renew(leases: RunningLease[], leaseMs: number): Promise<string[]> {
    this.#forgetLapsed()
    const byPart = Map.groupBy(leases, ({ account }) => this.#store.partOf(account))
    const lost = await Promise.all([...byPart.values()].map((ofPart) => this.#renewPart(ofPart, leaseMs)))
    return lost.flat()
  }

  authenticate(key: { account: string; keyHash: string }): Promise<KeyState> {
    return this.#orWithoutStore(
      key.account,
      () => this.#store.authenticate(key),
      async () => {
        const accountState = await this.#parts.keys.lookUp(key)
        if (accountState.kind === 'dead') return { kind: 'deny' }
        return { ...accountState, used: null }
      },
    )
  }

  async #orWithoutStore<Reply>(
    account: string,
    callStore: () => Promise<Reply>,
    withoutStore: (part: string, wasSent: boolean) => Promise<Reply>,
  ): Promise<Reply> {
    if (this.#leftAloneUntilMs.size > 0) {
      const part = this.#store.partOf(account)
      if (this.#isLeftAlone(part)) return withoutStore(part, false)
    }
    try {
      return await callStore()
    } catch (error) {
      if (!(error instanceof AdmissionUnavailableError)) throw error
      const part = this.#store.partOf(account)
      this.#leaveAlone(part, error)
      return withoutStore(part, true)
    }
  }

  #isLeftAlone(part: string): boolean {
    const untilMs = this.#leftAloneUntilMs.get(part)
    if (untilMs === undefined) return false
    if (performance.now() < untilMs) return true
    this.#leftAloneUntilMs.delete(part)
    return false
  }

  #leaveAlone(part: string, err: unknown): void {
    // One line for all the calls that were under way.
    if (!this.#isLeftAlone(part)) {
      this.#parts.logger.warn({ err, part }, 'the admission store is away; this edge decides alone')
      this.#mayRunUncounted.add(part)
    }
    this.#leftAloneUntilMs.set(part, performance.now() + LEAVE_ALONE_MS)
  }

  async #admitInStore(request: AdmitRequest): Promise<AdmitDecision> {
    const decision = await this.#store.admit(request)
    this.#refusals.note(request.account, decision)
    return decision
  }

  async #admitHere(request: AdmitRequest, part: string): Promise<AdmitDecision> {
    const { keys, edgesMax, onAdmitHere } = this.#parts
    onAdmitHere()
    const { account, keyHash, limits } = request
    const accountState = await keys.lookUp({ account, keyHash })
    if (accountState.kind === 'dead') return { kind: 'deny', reason: 'key' }
    if (accountState.plan !== request.planHint) return { kind: 'plan', plan: accountState.plan }
    const { plan, overage, extra } = accountState
    const refusal = this.#refusals.of(account, { plan, overage, limit: limits.allowance + extra })
    if (refusal) return refusal
    const version = ++this.#version
    await this.#local.fill({ account, version, plan, overage, extra, keys: [{ keyHash, version, active: true }] })
    if (request.takes !== 'request' && !this.#totals.isFresh(account)) await this.#refreshTotal({ account, plan })
    await this.#countRunning(part)
    const decision = await this.#local.admit({
      ...request,
      limits: shareOf(limits, edgesMax),
      worstCharge: request.worstCharge * edgesMax,
    })
    if (decision.kind !== 'allow') return decision
    if (holdsReservation(request)) this.#countedHere.set(request.requestId, performance.now())
    // The versions in `#local` are this process' own.
    return { ...decision, quotaStatus: { ...decision.quotaStatus, planVersion: accountState.planVersion ?? 0 } }
  }

  /** Requests that the store admitted before it went away count here, too. */
  async #countRunning(part: string): Promise<void> {
    if (!this.#mayRunUncounted.delete(part)) return
    const { running, edgesMax } = this.#parts
    const uncounted = running().filter(
      ({ requestId, account }) => !this.#countedHere.has(requestId) && this.#store.partOf(account) === part,
    )
    for (const { requestId } of uncounted) this.#countedHere.set(requestId, performance.now())
    const leases = uncounted.map((lease) => ({ ...lease, worstCharge: lease.worstCharge * edgesMax }))
    if (leases.length > 0) await this.#local.renew(leases, LEASE_MS)
  }

  /** Routers report the end of some requests: their leases lapse here as they do in the store. */
  #forgetLapsed(): void {
    if (this.#countedHere.size + this.#unconfirmed.size === 0) return
    const ids = new Set(this.#parts.running().map(({ requestId }) => requestId))
    const lapsedBeforeMs = performance.now() - LEASE_MS
    for (const known of [this.#countedHere, this.#unconfirmed]) {
      for (const [requestId, sinceMs] of known) {
        if (sinceMs < lapsedBeforeMs && !ids.has(requestId)) known.delete(requestId)
      }
    }
  }

  async #renewInStore(leases: RunningLease[], leaseMs: number): Promise<string[]> {
    const repeated = leases.filter(
      ({ requestId, worstCharge }) => worstCharge !== undefined && !this.#unconfirmed.has(requestId),
    )
    for (const { requestId } of repeated) this.#unconfirmed.set(requestId, performance.now())
    const lost = await this.#store.renew(leases, leaseMs)
    for (const { requestId } of repeated) this.#unconfirmed.delete(requestId)
    return lost
  }

  #releaseInStore({ account, requestId }: AdmitRequest): void {
    this.#store.finish({ account, requestId, charge: 0, tokens: 0 }).catch(() => {})
  }

  /** One call for all requests that need the total at the same time: each reading includes the ends before the last reading. */
  readonly #refreshTotal = shareCalls(
    ({ account }) => account,
    async ({ account, plan }: { account: string; plan: string }): Promise<void> => {
      const { metering, unitOf } = this.#parts
      const { used, window } = await metering.quota({ account, unit: unitOf(plan) })
      const total = { account, window, settled: used, version: ++this.#version }
      await this.#local.warm(total)
      await this.#local.applyTotal({
        ...total,
        version: ++this.#version,
        included: this.#totals.refreshed(account).map((requestId) => ({ requestId })),
      })
    },
  )

  /** All leases are of one part. */
  #renewPart(leases: RunningLease[], leaseMs: number): Promise<string[]> {
    return this.#orWithoutStore(
      leases[0]!.account,
      () => this.#renewInStore(leases, leaseMs),
      async (part) => {
        await this.#countRunning(part)
        const counted = leases.filter(({ requestId }) => this.#countedHere.has(requestId))
        return this.#local.renew(
          counted.map(({ account, requestId }) => ({ account, requestId })),
          leaseMs,
        )
      },
    )
  }
}

/** The other kinds of request reserve nothing in the store. */
function holdsReservation({ takes = 'all' }: AdmitRequest): boolean {
  return takes === 'all'
}

/** At least one a minute: a limit below the number of edges would otherwise refuse everything. */
function shareOf(limits: AdmitRequest['limits'], edgesMax: number): AdmitRequest['limits'] {
  const share = (limit: number) => Math.max(1, Math.floor(limit / edgesMax))
  return {
    requestsPerMinute: share(limits.requestsPerMinute),
    tokensPerMinute: share(limits.tokensPerMinute),
    requestsPerDay: limits.requestsPerDay === null ? null : share(limits.requestsPerDay),
    allowance: limits.allowance,
  }
}
