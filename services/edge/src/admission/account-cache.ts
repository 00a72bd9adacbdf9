/**
 * Keeps the edge's latest news of accounts and keys: plans, keys that are unknown or dead, and refusals that still hold. All of
 * it is bounded, so that a scanner with many keys cannot fill the memory.
 *
 * Plans are hints: admission decides. A dead key is refused, also where a former primary of Redis still takes it for alive.
 */

import type { AdmitDecision } from '@gateway/admission/port'

const MAX_ACCOUNTS = 100_000
const MAX_UNKNOWN_KEYS = 10_000
const MAX_DEAD_KEYS = 10_000
/** Short, because a key could be minted by then; long enough to keep a scanner off the database. */
const UNKNOWN_KEY_MS = 2_000

export type AccountCache = ReturnType<typeof openAccountCache>

export function openAccountCache(nowMs: () => number = Date.now) {
  const plans = new Map<string, string>()
  const unknownUntilMs = new Map<string, number>()
  const deadKeys = new Map<string, true>()
  return {
    planOf: (account: string): string | null => plans.get(account) ?? null,
    remember: (account: string, plan: string) => setBounded(plans, account, plan, MAX_ACCOUNTS),
    isUnknownKey: (keyHash: string) => (unknownUntilMs.get(keyHash) ?? 0) > nowMs(),
    cacheUnknownKey: (keyHash: string) =>
      setBounded(unknownUntilMs, keyHash, nowMs() + UNKNOWN_KEY_MS, MAX_UNKNOWN_KEYS),
    isDeadKey: (keyHash: string) => deadKeys.has(keyHash),
    cacheDeadKey: (keyHash: string) => setBounded(deadKeys, keyHash, true, MAX_DEAD_KEYS),
  }
}

type Refusal = Extract<AdmitDecision, { kind: 'deny'; retryAfterMs: number }>

/** Whose wait holds for whatever the account asks next; the others depend on the key, the model or the size. */
const ABOUT_THE_ACCOUNT: ReadonlySet<Refusal['reason']> = new Set(['requests', 'day', 'allowance', 'pending'])
const LONGEST_MS = 60_000
/** Forgetting them leaves the edge to what it knows itself. */
const MAX_REFUSALS = 10_000

interface CachedRefusals {
  note(account: string, answer: AdmitDecision): void
  /** The refusal that still holds; none where the account may have more now. */
  of(account: string, now: { plan: string; overage: boolean; limit: number }): Refusal | null
}

/**
 * An edge that loses the store in the middle of a burst would else begin anew on its share, just when all is used up: for as
 * long as the store said, nobody may decide otherwise.
 */
export function cacheRefusals(nowMs: () => number = () => performance.now()): CachedRefusals {
  const refusals = new Map<string, { answer: Refusal; untilMs: number }>()
  return {
    note(account, answer) {
      if (answer.kind === 'allow' && refusals.size > 0) refusals.delete(account)
      if (answer.kind !== 'deny' || answer.reason === 'key' || !ABOUT_THE_ACCOUNT.has(answer.reason)) return
      const untilMs = nowMs() + Math.min(answer.retryAfterMs, LONGEST_MS)
      setBounded(refusals, account, { answer, untilMs }, MAX_REFUSALS)
    },

    of(account, { plan, overage, limit }) {
      const refusal = refusals.get(account)
      if (!refusal) return null
      const { answer, untilMs } = refusal
      if (untilMs <= nowMs() || answer.quotaStatus.plan !== plan) return null
      const isOfAllowance = answer.reason === 'allowance' || answer.reason === 'pending'
      return isOfAllowance && (overage || limit > answer.quotaStatus.limit) ? null : answer
    },
  }
}

/** Forgets the oldest entry when full: a Map keeps insertion order. */
function setBounded<Value>(map: Map<string, Value>, key: string, value: Value, maxEntries: number): void {
  if (!map.has(key) && map.size >= maxEntries) {
    const oldest = map.keys().next().value
    if (oldest !== undefined) map.delete(oldest)
  }
  map.set(key, value)
}
