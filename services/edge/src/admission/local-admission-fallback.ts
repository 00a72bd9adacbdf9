/**
 * Admission while the shared store, or the part of it that holds the account, is away: decided in this process, on facts
 * from their owners. Accounts of other parts notice nothing.
 *
 * The key's state comes from keys each time and is not remembered, so a revoke holds at once. Rates are this edge's
 * share of the plan's, so that all edges together stay within it. The allowance stands on the ledger's total, at most
 * {@link TOTAL_MAX_AGE_MS} old, and on what this edge runs, whoever admitted it, counted once for each edge that there may
 * be: the others are taken to run as much. A request that the store has just refused stays refused. When the store is back, the
 * next request goes to it, and the renewal of running requests tells it what they hold.
 *
 * The store may still apply a call that it did not answer, at any time. So it may come to hold a request that the ledger
 * already has, and a charge of that would stay pending. The edge tells it no charge of such a request, only its end.
 */

import {
  AdmissionUnavailableError,
  type AdmitDecision,
  type AdmitRequest,
  type EdgeAdmission,
  type RunningLease,
} from '@gateway/admission/port'
import { openMemoryAdmission } from '@gateway/admission/memory'
import type { PlanUnit } from '@gateway/contracts/usage'
import type { Logger } from '@gateway/telemetry/logger'
import { type KeysClient, type MeteringClient, shareCalls } from '../http/sdk-clients.ts'
import { cacheRefusals } from './account-cache.ts'
import { LEASE_MS, type Reservation } from '../inference/running-requests.ts'

export const TOTAL_MAX_AGE_MS = 5_000
/** A store that did not answer is not asked again for this long: each question would cost its whole time limit. */
const LEAVE_ALONE_MS = 500

/** Forgetting them counts what has ended twice for longer, never too little. */
const MAX_ACCOUNTS = 100_000

interface Parts {
  store: EdgeAdmission
  keys: KeysClient
  metering: MeteringClient
  unitOf(plan: string): PlanUnit
  /** What this edge runs, with the most that each can cost. */
  running(): Reservation[]
  /** The most edges that ever run at once: each takes this share of the rates. */
  edgesMax: number
  logger: Logger
  /** A request was decided here. */
  onAdmitHere(): void
}

/** The same face as the store's: callers need not know which of the two decided. */
export function openLocalAdmissionFallback(parts: Parts): EdgeAdmission {
  const { store, keys, metering, unitOf, edgesMax, logger } = parts
  const local = openMemoryAdmission()
  const totals = cacheTotals()
  const refusals = cacheRefusals()
  /** The requests that are counted here, and since when. */
  const here = new Map<string, number>()
  /** The requests that the store was told to hold and has not answered, and since when. */
  const outstanding = new Map<string, number>()
  /** The parts in which requests may run that are not counted here. */
  const mayRunUncounted = new Set<string>()
  let version = 0
  /** The parts that are left alone, and until when. */
  const aloneUntilMs = new Map<string, number>()

  async function orWithout<Answer>(
    account: string,
    ask: () => Promise<Answer>,
    without: (part: string, wasRequested: boolean) => Promise<Answer>,
  ): Promise<Answer> {
    if (aloneUntilMs.size > 0) {
      const part = store.partOf(account)
      if (isLeftAlone(part)) return without(part, false)
    }
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof AdmissionUnavailableError)) throw error
      const part = store.partOf(account)
      leaveAlone(part, error)
      return without(part, true)
    }
  }

  function isLeftAlone(part: string): boolean {
    const untilMs = aloneUntilMs.get(part)
    if (untilMs === undefined) return false
    if (performance.now() < untilMs) return true
    aloneUntilMs.delete(part)
    return false
  }

  function leaveAlone(part: string, err: unknown): void {
    // One line for all the calls that were under way.
    if (!isLeftAlone(part)) {
      logger.warn({ err, part }, 'the admission store is away; this edge decides alone')
      mayRunUncounted.add(part)
    }
    aloneUntilMs.set(part, performance.now() + LEAVE_ALONE_MS)
  }

  async function admitInStore(ask: AdmitRequest): Promise<AdmitDecision> {
    const answer = await store.admit(ask)
    refusals.note(ask.account, answer)
    return answer
  }

  async function admitHere(ask: AdmitRequest, part: string): Promise<AdmitDecision> {
    parts.onAdmitHere()
    const { account, keyHash, limits } = ask
    const facts = await keys.lookUp({ account, keyHash })
    if (facts.kind === 'dead') return { kind: 'deny', reason: 'key' }
    if (facts.plan !== ask.planHint) return { kind: 'plan', plan: facts.plan }
    const { plan, overage, extra } = facts
    const refusal = refusals.of(account, { plan, overage, limit: limits.allowance + extra })
    if (refusal) return refusal
    await local.fill({ account, version: ++version, plan, overage, extra, keys: [{ keyHash, version, active: true }] })
    if (ask.takes !== 'request' && !totals.isFresh(account)) await refreshTotal({ account, plan })
    await countWhatRuns(part)
    const answer = await local.admit({
      ...ask,
      limits: shareOf(limits, edgesMax),
      worstCharge: ask.worstCharge * edgesMax,
    })
    if (answer.kind !== 'allow') return answer
    if (runs(ask)) here.set(ask.requestId, performance.now())
    // The versions of what is filled here are this process' own.
    return { ...answer, quotaStatus: { ...answer.quotaStatus, planVersion: facts.planVersion ?? 0 } }
  }

  /** Requests that the store admitted before it went away count here, too. */
  async function countWhatRuns(part: string): Promise<void> {
    if (!mayRunUncounted.delete(part)) return
    const isUncounted = (one: Reservation) => !here.has(one.requestId) && store.partOf(one.account) === part
    const uncounted = parts.running().filter(isUncounted)
    for (const { requestId } of uncounted) here.set(requestId, performance.now())
    const leases = uncounted.map((lease) => ({ ...lease, worstCharge: lease.worstCharge * edgesMax }))
    if (leases.length > 0) await local.renew(leases, LEASE_MS)
  }

  /** Of some, the end is told by their router: their lease lapses here as it does in the store. */
  function forgetLapsed(): void {
    if (here.size + outstanding.size === 0) return
    const ids = new Set(parts.running().map(({ requestId }) => requestId))
    const lapsedBeforeMs = performance.now() - LEASE_MS
    for (const known of [here, outstanding]) {
      for (const [requestId, sinceMs] of known) {
        if (sinceMs < lapsedBeforeMs && !ids.has(requestId)) known.delete(requestId)
      }
    }
  }

  async function renewInStore(leases: RunningLease[], leaseMs: number): Promise<string[]> {
    const again = leases.filter(
      ({ requestId, worstCharge }) => worstCharge !== undefined && !outstanding.has(requestId),
    )
    for (const { requestId } of again) outstanding.set(requestId, performance.now())
    const lost = await store.renew(leases, leaseMs)
    for (const { requestId } of again) outstanding.delete(requestId)
    return lost
  }

  function giveBack({ account, requestId }: AdmitRequest): void {
    store.finish({ account, requestId, charge: 0, tokens: 0 }).catch(() => {})
  }

  /** Once for all who need it at the same time: each reading takes what had ended before the last for included. */
  const refreshTotal = shareCalls(({ account }) => account, readTotal)

  async function readTotal({ account, plan }: { account: string; plan: string }): Promise<void> {
    const { used, window } = await metering.quota({ account, unit: unitOf(plan) })
    const total = { account, window, settled: used, version: ++version }
    await local.warm(total)
    await local.applyTotal({
      ...total,
      version: ++version,
      included: totals.refreshed(account).map((requestId) => ({ requestId })),
    })
  }

  /** Of one part. */
  function renewPart(leases: RunningLease[], leaseMs: number): Promise<string[]> {
    return orWithout(
      leases[0]!.account,
      () => renewInStore(leases, leaseMs),
      async (part) => {
        await countWhatRuns(part)
        const counted = leases.filter(({ requestId }) => here.has(requestId))
        return local.renew(
          counted.map(({ account, requestId }) => ({ account, requestId })),
          leaseMs,
        )
      },
    )
  }

  return {
    partOf: (account) => store.partOf(account),

    admit: (ask) =>
      orWithout(
        ask.account,
        () => admitInStore(ask),
        async (part, wasRequested) => {
          const answer = await admitHere(ask, part)
          if (!runs(ask)) return answer
          // The store may have admitted it all the same, or may yet.
          if (wasRequested && answer.kind !== 'deny') outstanding.set(ask.requestId, performance.now())
          if (wasRequested && answer.kind !== 'allow') giveBack(ask)
          return answer
        },
      ),

    async finish(end) {
      const { account, requestId } = end
      const toStore = outstanding.delete(requestId) ? { ...end, charge: 0 } : end
      if (!here.delete(requestId)) return store.finish(toStore)
      totals.ended(account, requestId)
      await local.finish(end)
      // The store may hold it too: it was asked before, or its renewal said so when the store came back.
      await store.finish(toStore).catch(() => {})
    },

    async renew(leases, leaseMs) {
      forgetLapsed()
      const byPart = Map.groupBy(leases, ({ account }) => store.partOf(account))
      const lost = await Promise.all([...byPart.values()].map((ofPart) => renewPart(ofPart, leaseMs)))
      return lost.flat()
    },

    authenticate: (key) =>
      orWithout(
        key.account,
        () => store.authenticate(key),
        async () => {
          const facts = await keys.lookUp(key)
          if (facts.kind === 'dead') return { kind: 'deny' }
          return { ...facts, used: null }
        },
      ),
  }
}

/** The others hold nothing of the store. */
function runs({ takes = 'all' }: AdmitRequest): boolean {
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

/**
 * How old the ledger's total is, and which ended requests it surely includes: those that had ended before the total
 * before it was read. Until then they count twice, which is never too little.
 */
function cacheTotals() {
  const accounts = new Map<string, { readAtMs: number; endedBefore: string[]; endedSince: string[] }>()
  const of = (account: string) => {
    const known = accounts.get(account) ?? { readAtMs: -Infinity, endedBefore: [], endedSince: [] }
    if (accounts.size >= MAX_ACCOUNTS) accounts.clear()
    accounts.set(account, known)
    return known
  }
  return {
    isFresh: (account: string) => performance.now() - of(account).readAtMs < TOTAL_MAX_AGE_MS,
    ended: (account: string, requestId: string) => void of(account).endedSince.push(requestId),
    refreshed(account: string): string[] {
      const known = of(account)
      const included = known.endedBefore
      accounts.set(account, { readAtMs: performance.now(), endedBefore: known.endedSince, endedSince: [] })
      return included
    },
  }
}
