/**
 * The accounts' plans, and the unknown and dead keys, of which this edge heard last. Bounded, so that a scanner with many
 * keys cannot fill the memory.
 *
 * Plans are hints: admission decides. A dead key is refused, also where a former primary of Redis still takes it for alive.
 */

const MAX_ACCOUNTS = 100_000
const MAX_UNKNOWN_KEYS = 10_000
const MAX_DEAD_KEYS = 10_000
/** Short, because a key could be minted by then; long enough to keep a scanner off the database. */
const UNKNOWN_KEY_MS = 2_000

export interface RememberedPlans {
  planOf(account: string): string | null
  remember(account: string, plan: string): void
  isUnknownKey(keyHash: string): boolean
  rememberUnknownKey(keyHash: string): void
  isDeadKey(keyHash: string): boolean
  rememberDeadKey(keyHash: string): void
}

export function rememberPlans(nowMs: () => number = Date.now): RememberedPlans {
  const plans = new Map<string, string>()
  const unknownUntilMs = new Map<string, number>()
  const deadKeys = new Map<string, true>()
  return {
    planOf: (account) => plans.get(account) ?? null,
    remember: (account, plan) => setBounded(plans, account, plan, MAX_ACCOUNTS),
    isUnknownKey: (keyHash) => (unknownUntilMs.get(keyHash) ?? 0) > nowMs(),
    rememberUnknownKey: (keyHash) => setBounded(unknownUntilMs, keyHash, nowMs() + UNKNOWN_KEY_MS, MAX_UNKNOWN_KEYS),
    isDeadKey: (keyHash) => deadKeys.has(keyHash),
    rememberDeadKey: (keyHash) => setBounded(deadKeys, keyHash, true, MAX_DEAD_KEYS),
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
