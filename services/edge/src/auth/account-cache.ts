/**
 * Caches an account's plan, and keys that are unknown or dead. Its size is bounded, so that a scanner with many keys cannot
 * fill the memory.
 *
 * Plans are hints: admission decides. The edge refuses a dead key also where a former primary of Redis still takes it for
 * alive.
 */

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

/** Forgets the oldest entry when full: a Map keeps insertion order. */
export function setBounded<Value>(map: Map<string, Value>, key: string, value: Value, maxEntries: number): void {
  if (!map.has(key) && map.size >= maxEntries) {
    const oldest = map.keys().next().value
    if (oldest !== undefined) map.delete(oldest)
  }
  map.set(key, value)
}
