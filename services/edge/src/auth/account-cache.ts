/**
 * Caches an account's plan, the policies of keys of projects, and keys that are unknown or dead. Its size is bounded, so that a
 * scanner with many keys cannot fill the memory.
 *
 * Plans and policies are hints: admission decides. The edge refuses a dead key also where a former primary of Redis still takes
 * it for alive.
 */

import type { PolicyFacts } from '@gateway/admission/port'
import { GatewayError } from '@gateway/contracts/errors'
import { type Policy, readPolicy } from '../core/policy.ts'

const MAX_ACCOUNTS = 100_000
const MAX_UNKNOWN_KEYS = 10_000
const MAX_DEAD_KEYS = 10_000
/** Of all policies together: a list of a thousand models takes about 20,000. */
const MAX_POLICY_CHARS = 32_000_000
/** Short, because a key could be minted by then; long enough to keep a scanner off the database. */
const UNKNOWN_KEY_MS = 2_000

export type AccountCache = ReturnType<typeof openAccountCache>

export function openAccountCache(nowMs: () => number = Date.now, maxPolicyChars = MAX_POLICY_CHARS) {
  const plans = new Map<string, string>()
  const policies = openPolicies(maxPolicyChars)
  const unknownUntilMs = new Map<string, number>()
  const deadKeys = new Map<string, true>()
  return {
    planOf: (account: string): string | null => plans.get(account) ?? null,
    remember: (account: string, plan: string) => setBounded(plans, account, plan, MAX_ACCOUNTS),
    /** Null: the key is no project's, or the edge does not know its policy yet. */
    policyOf: (keyHash: string): Policy | null => policies.of(keyHash),
    /** Returns the policy, which is read once. */
    rememberPolicy: (keyHash: string, facts: PolicyFacts): Policy => policies.remember(keyHash, facts),
    isUnknownKey: (keyHash: string) => (unknownUntilMs.get(keyHash) ?? 0) > nowMs(),
    cacheUnknownKey: (keyHash: string) =>
      setBounded(unknownUntilMs, keyHash, nowMs() + UNKNOWN_KEY_MS, MAX_UNKNOWN_KEYS),
    isDeadKey: (keyHash: string) => deadKeys.has(keyHash),
    cacheDeadKey: (keyHash: string) => {
      policies.forget(keyHash)
      setBounded(deadKeys, keyHash, true, MAX_DEAD_KEYS)
    },
  }
}

/** Beyond `maxChars` it forgets the policies that it has known for longest: forgetting one costs a call at its next request. */
function openPolicies(maxChars: number) {
  const policies = new Map<string, { policy: Policy; chars: number }>()
  let chars = 0

  function forget(keyHash: string): void {
    chars -= policies.get(keyHash)?.chars ?? 0
    policies.delete(keyHash)
  }

  return {
    of: (keyHash: string): Policy | null => (policies.size === 0 ? null : (policies.get(keyHash)?.policy ?? null)),
    forget,
    remember(keyHash: string, facts: PolicyFacts): Policy {
      const known = policies.get(keyHash)?.policy
      if (known?.hint === facts.hint) return known
      const policy = read(facts)
      forget(keyHash)
      const size = facts.project.length + facts.key.length + facts.hint.length
      policies.set(keyHash, { policy, chars: size })
      chars += size
      for (const oldest of policies.keys()) {
        if (chars <= maxChars || oldest === keyHash) break
        forget(oldest)
      }
      return policy
    },
  }
}

function read(facts: PolicyFacts): Policy {
  try {
    return readPolicy(facts)
  } catch (cause) {
    const sentence = 'The limits of this key could not be read; try again shortly'
    throw new GatewayError('SERVICE_UNAVAILABLE', sentence, {}, { cause })
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
