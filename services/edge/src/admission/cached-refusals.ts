/**
 * Caches the store's refusals that still hold, for an edge that loses the store.
 */

import type { AdmitDecision } from '@gateway/admission/port'
import { setBounded } from '../auth/account-cache.ts'

type Refusal = Extract<AdmitDecision, { kind: 'deny'; retryAfterMs: number }>

/** Their wait holds for each next request of the account; other refusals depend on the key, the model or the size. */
const ABOUT_THE_ACCOUNT: ReadonlySet<Refusal['reason']> = new Set(['requests', 'day', 'allowance', 'pending'])
const LONGEST_MS = 60_000
/** Without them the edge decides on its own state. */
const MAX_REFUSALS = 10_000

interface CachedRefusals {
  note(account: string, decision: AdmitDecision): void
  /** The refusal that still holds; none where the account may have more now. */
  of(account: string, now: { plan: string; overage: boolean; limit: number }): Refusal | null
}

/**
 * An edge that loses the store in the middle of a burst would else begin with its full share, just when all is used up. So the
 * store's refusal holds for the time that the store stated.
 */
export function cacheRefusals(nowMs: () => number = () => performance.now()): CachedRefusals {
  const refusals = new Map<string, { decision: Refusal; untilMs: number }>()
  return {
    note(account, decision) {
      if (decision.kind === 'allow' && refusals.size > 0) refusals.delete(account)
      if (decision.kind !== 'deny' || decision.reason === 'key' || !ABOUT_THE_ACCOUNT.has(decision.reason)) return
      const untilMs = nowMs() + Math.min(decision.retryAfterMs, LONGEST_MS)
      setBounded(refusals, account, { decision, untilMs }, MAX_REFUSALS)
    },

    of(account, { plan, overage, limit }) {
      const refusal = refusals.get(account)
      if (!refusal) return null
      const { decision, untilMs } = refusal
      if (untilMs <= nowMs() || decision.quotaStatus.plan !== plan) return null
      const isOfAllowance = decision.reason === 'allowance' || decision.reason === 'pending'
      return isOfAllowance && (overage || limit > decision.quotaStatus.limit) ? null : decision
    },
  }
}
