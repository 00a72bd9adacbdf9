/**
 * Admission while the shared store is away: decided in this process, on facts from their owners.
 *
 * The key's state comes from keys each time and is not remembered, so a revoke holds at once. Rates are this edge's
 * share of the plan's, so that all edges together stay within it. The allowance stands on the ledger's total, at most
 * {@link TOTAL_MAX_AGE_MS} old, plus what this edge has pending. When the store is back, the next request goes to it, and
 * the renewal of running requests tells it what they hold.
 */

import type { AdmitAnswer, AdmitAsk, EdgeAdmission } from '@gateway/admission/edge'
import { openMemoryAdmission } from '@gateway/admission/memory'
import { AdmissionUnavailableError } from '@gateway/admission/unavailable'
import type { PlanUnit } from '@gateway/contracts/usage'
import type { Logger } from '@gateway/service/logger'
import type { KeysClient } from './clients/keys.ts'
import type { MeteringClient } from './clients/metering.ts'

const TOTAL_MAX_AGE_MS = 5_000
/** A store that did not answer is not asked again for this long: each question would cost its whole time limit. */
const LEAVE_ALONE_MS = 500

/** Forgetting them counts what has ended twice for longer, never too little. */
const MAX_ACCOUNTS = 100_000

interface Parts {
  store: EdgeAdmission
  keys: KeysClient
  metering: MeteringClient
  unitOf(plan: string): PlanUnit
  /** The most edges that ever run at once: each takes this share of the rates. */
  edgesMax: number
  logger: Logger
  /** A request was decided here. */
  onAdmitHere(): void
}

/** The same face as the store's: callers need not know which of the two decided. */
export function surviveWithoutStore(parts: Parts): EdgeAdmission {
  const { store, keys, metering, unitOf, edgesMax, logger } = parts
  const local = openMemoryAdmission()
  const totals = rememberTotals()
  const admittedHere = new Set<string>()
  let version = 0
  let leaveAloneUntilMs = 0

  async function orWithout<Answer>(ask: () => Promise<Answer>, without: () => Promise<Answer>): Promise<Answer> {
    if (performance.now() < leaveAloneUntilMs) return without()
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof AdmissionUnavailableError)) throw error
      // One line for all the calls that were under way.
      const nowMs = performance.now()
      if (nowMs >= leaveAloneUntilMs)
        logger.warn({ err: error }, 'the admission store is away; this edge decides alone')
      leaveAloneUntilMs = nowMs + LEAVE_ALONE_MS
      return without()
    }
  }

  async function admitHere(ask: AdmitAsk): Promise<AdmitAnswer> {
    parts.onAdmitHere()
    const { account, keyHash } = ask
    const facts = await keys.lookUp({ account, keyHash })
    if (facts.kind === 'dead') return { kind: 'deny', reason: 'key' }
    if (facts.plan !== ask.planHint) return { kind: 'plan', plan: facts.plan }
    const { plan, overage, extra } = facts
    await local.fill({ account, version: ++version, plan, overage, extra, keys: [{ keyHash, version, active: true }] })
    await refreshTotal(account, plan)
    const answer = await local.admit({ ...ask, limits: shareOf(ask.limits, edgesMax) })
    if (answer.kind === 'allow') admittedHere.add(ask.requestId)
    return answer
  }

  async function refreshTotal(account: string, plan: string): Promise<void> {
    if (totals.isFresh(account)) return
    const { used, window } = await metering.quota({ account, unit: unitOf(plan) })
    const total = { account, window, settled: used, version: ++version }
    await local.warm(total)
    await local.applyTotal({ ...total, version: ++version, included: totals.refreshed(account) })
  }

  return {
    admit: (ask) =>
      orWithout(
        () => store.admit(ask),
        () => admitHere(ask),
      ),

    async finish(end) {
      if (!admittedHere.delete(end.requestId)) return store.finish(end)
      totals.ended(end.account, end.requestId)
      await local.finish(end)
      // The store may hold it too: its renewal said so when the store came back.
      await store.finish(end).catch(() => {})
    },

    renew: (leases, leaseMs) =>
      orWithout(
        () => store.renew(leases, leaseMs),
        () =>
          local.renew(
            leases.filter(({ requestId }) => admittedHere.has(requestId)),
            leaseMs,
          ),
      ),

    authenticate: (key) =>
      orWithout(
        () => store.authenticate(key),
        async () => {
          const facts = await keys.lookUp(key)
          if (facts.kind === 'dead') return { kind: 'deny' }
          return { ...facts, used: null }
        },
      ),
  }
}

/** At least one a minute: a limit below the number of edges would otherwise refuse everything. */
function shareOf(limits: AdmitAsk['limits'], edgesMax: number): AdmitAsk['limits'] {
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
function rememberTotals(nowMs: () => number = () => performance.now()) {
  const accounts = new Map<string, { readAtMs: number; endedBefore: string[]; endedSince: string[] }>()
  const of = (account: string) => {
    const known = accounts.get(account) ?? { readAtMs: -Infinity, endedBefore: [], endedSince: [] }
    if (accounts.size >= MAX_ACCOUNTS) accounts.clear()
    accounts.set(account, known)
    return known
  }
  return {
    isFresh: (account: string) => nowMs() - of(account).readAtMs < TOTAL_MAX_AGE_MS,
    ended: (account: string, requestId: string) => void of(account).endedSince.push(requestId),
    refreshed(account: string): string[] {
      const known = of(account)
      const included = known.endedBefore
      accounts.set(account, { readAtMs: nowMs(), endedBefore: known.endedSince, endedSince: [] })
      return included
    },
  }
}
