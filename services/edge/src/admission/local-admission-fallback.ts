/**
 * Admission while the shared store, or the part of it that holds the account, is away: this process decides, on state from
 * the state's owners. Accounts of other parts notice nothing.
 *
 * - The keys service states the key's state for each request, and the edge does not cache it: a revoke holds at once.
 * - Rates are this edge's share of those of the plan, the key and the model, so that all edges together stay within them.
 * - The allowance, a hard limit and a key's month count the ledger's totals, at most `TOTAL_MAX_AGE_MS` old, and each request that this edge runs, whether
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
import { GatewayError } from '@gateway/contracts/errors'
import type { PlanUnit } from '@gateway/contracts/usage'
import type { Logger } from '@gateway/telemetry/logger'
import { type KeysClient, type MeteringClient, shareCalls } from '../rpc/service-clients.ts'
import { cacheRefusals } from './cached-refusals.ts'
import { shareOfKey, shareOfPlan, shareOfProject } from './edge-share.ts'
import { LedgerTotals } from './ledger-totals.ts'
import { keyStateOf, type LookedUpKey, policyOf } from './looked-up-key.ts'
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
  /** A request of the account has ended, and admission knows it. */
  onEnd(account: string): void
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
    await this.#finish(end)
    this.#parts.onEnd(end.account)
  }

  async #finish(end: RequestEnd & { account: string }): Promise<void> {
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
      async () => keyStateOf(await this.#parts.keys.lookUp(key)),
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
    this.#refusals.note(request, decision)
    return decision
  }

  async #admitHere(request: AdmitRequest, part: string): Promise<AdmitDecision> {
    const { keys, edgesMax, onAdmitHere } = this.#parts
    onAdmitHere()
    const { account, keyHash, limits } = request
    const accountState = await keys.lookUp({ account, keyHash })
    if (accountState.kind === 'dead') return { kind: 'deny', reason: 'key' }
    const { plan, overage, extra } = accountState
    const policy = policyOf(accountState)
    if (plan !== request.planHint || policy?.hint !== request.policyHint) return { kind: 'plan', plan, policy }
    const refusal = this.#refusals.of(request, { plan, overage, limit: limits.allowance + extra })
    if (refusal) return refusal
    await this.#fillHere(request, accountState)
    if (request.takes !== 'request') await this.#knowTotals(account, accountState)
    await this.#countRunning(part)
    const decision = await this.#decideHere({
      ...request,
      limits: shareOfPlan(limits, edgesMax),
      worstCharge: request.worstCharge * edgesMax,
    })
    if (decision.kind !== 'allow') return decision
    if (holdsReservation(request)) this.#countedHere.set(request.requestId, performance.now())
    // The versions in `#local` are this process' own.
    return { ...decision, quotaStatus: { ...decision.quotaStatus, planVersion: accountState.planVersion ?? 0 } }
  }

  /** As the keys service states it, with this edge's share of the rates. */
  async #fillHere({ account, keyHash }: AdmitRequest, state: LookedUpKey): Promise<void> {
    const { edgesMax } = this.#parts
    const { plan, overage, extra, project, limits } = state
    const version = ++this.#version
    await this.#local.fill({
      account,
      version,
      plan,
      overage,
      extra,
      project: project && shareOfProject(project, edgesMax),
      keys: [{ keyHash, version, active: true, limits: limits && shareOfKey(limits, edgesMax) }],
    })
  }

  /** The caller decided by the present policies. `#local` has hints of its own for them. */
  async #decideHere(request: AdmitRequest): Promise<AdmitDecision> {
    const decision = await this.#local.admit(request)
    if (decision.kind !== 'plan' || decision.policy === undefined) return decision
    return this.#local.admit({ ...request, policyHint: decision.policy.hint })
  }

  /** A call under way may have begun before this key needed its total. */
  async #knowTotals(account: string, { plan, limits }: LookedUpKey): Promise<void> {
    const keyId = limits && limits.monthly !== null ? limits.keyId : undefined
    if (keyId !== undefined) this.#totals.needs(account, keyId)
    while (!this.#totals.isFresh(account, keyId)) await this.#refreshTotal({ account, plan })
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
      const keyIds = this.#totals.keysOf(account)
      const ofKeys = keyIds.length > 0 ? { keyIds } : {}
      const { used, window, keys } = await metering.quota({ account, unit: unitOf(plan), ...ofKeys })
      if (keyIds.length > 0 && keys === undefined) throw totalUnknown()
      const total = { account, window, settled: used, version: ++this.#version, keys }
      await this.#local.warm(total)
      await this.#local.applyTotal({
        ...total,
        version: ++this.#version,
        included: this.#totals.refreshed(account, keyIds).map((requestId) => ({ requestId })),
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

/** A metering process of the last release does not state the totals of keys. */
function totalUnknown(): GatewayError {
  return new GatewayError('SERVICE_UNAVAILABLE', 'The use of this key is not known at the moment; try again shortly')
}
