/**
 * Caches the store's refusals that still hold, for an edge that loses the store.
 */

import type { AdmitDecision, AdmitRequest, LimitScope } from '@gateway/admission/port'
import { setBounded } from '../auth/account-cache.ts'

type Refusal = Extract<AdmitDecision, { kind: 'deny'; retryAfterMs: number }>
type Refused = Pick<AdmitRequest, 'account' | 'keyHash' | 'model' | 'policyHint'>

/**
 * Their wait holds for each next request of the account, of the key, or of the account for the model. Other refusals depend on
 * the request itself. The edge reads the month's total of a key from the ledger.
 */
const HELD: Record<LimitScope, ReadonlySet<Refusal['reason']>> = {
  account: new Set(['requests', 'day', 'allowance', 'pending']),
  key: new Set(['requests']),
  model: new Set(['requests', 'day']),
}
const LONGEST_MS = 60_000
/** Without them the edge decides on its own state. */
const MAX_REFUSALS = 10_000

interface CachedRefusals {
  note(request: Refused, decision: AdmitDecision): void
  /** The refusal that still holds; none where the account may have more now. */
  of(request: Refused, now: { plan: string; overage: boolean; limit: number }): Refusal | null
}

/**
 * An edge that loses the store in the middle of a burst would else begin with its full share, just when all is used up. So the
 * store's refusal holds for the time that the store stated.
 */
export function cacheRefusals(nowMs: () => number = () => performance.now()): CachedRefusals {
  const refusals = new Map<string, { decision: Refusal; untilMs: number }>()
  return {
    note(request, decision) {
      if (decision.kind === 'allow' && refusals.size > 0) for (const name of namesOf(request)) refusals.delete(name)
      if (decision.kind !== 'deny' || decision.reason === 'key') return
      const { scope = 'account' } = decision
      if (!HELD[scope].has(decision.reason)) return
      const untilMs = nowMs() + Math.min(decision.retryAfterMs, LONGEST_MS)
      setBounded(refusals, nameOf(scope, request), { decision, untilMs }, MAX_REFUSALS)
    },

    of(request, { plan, overage, limit }) {
      if (refusals.size === 0) return null
      for (const name of namesOf(request)) {
        const refusal = refusals.get(name)
        if (!refusal) continue
        const { decision, untilMs } = refusal
        if (untilMs <= nowMs() || decision.quotaStatus.plan !== plan) continue
        const isOfAllowance = decision.reason === 'allowance' || decision.reason === 'pending'
        if (!isOfAllowance || (!overage && limit <= decision.quotaStatus.limit)) return decision
      }
      return null
    },
  }
}

const SCOPES: readonly LimitScope[] = ['account', 'key', 'model']

/** Only a key of a project has limits beside those of its account. */
function namesOf(request: Refused): string[] {
  return request.policyHint === undefined ? [nameOf('account', request)] : SCOPES.map((scope) => nameOf(scope, request))
}

function nameOf(scope: LimitScope, { account, keyHash, model = '' }: Refused): string {
  switch (scope) {
    case 'account':
      return account
    case 'key':
      return `key ${keyHash}`
    case 'model':
      return `model ${account} ${model}`
  }
}
