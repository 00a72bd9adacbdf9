/**
 * The part of an account's state that the keys service owns. Facts come in any order and more than once; the newest version stands, and
 * of two facts of the same version the one that refuses. Facts older than those held do not bring an unknown key to life:
 * it may have died since, and its mark may have gone.
 */

import { DAY_MS } from './month.ts'

/** A dead key's mark outlasts any fill that was under way; after that, the fill itself says that the key is dead. */
const DEAD_KEY_KEPT_MS = DAY_MS
const PRUNE_ABOVE = 100
/** Beyond this the earlier half is deleted, so a client that rotates in a loop does not fill the store. */
const DEAD_KEYS_AT_MOST = 500

interface KeyFact {
  readonly version: number
  readonly active: boolean
  readonly writtenAtMs: number
}

export interface PlanFacts {
  readonly version: number
  readonly plan: string
  readonly overage: boolean
  readonly extra: number
  /** The window that `extra` belongs to; empty where it was over when the facts came. */
  readonly window: string
  /** Top-ups of a later window are known. */
  readonly moreLater: boolean
}

export interface AccountState {
  /** Null while nothing but dead keys is known. */
  readonly plan: PlanFacts | null
  readonly keys: ReadonlyMap<string, KeyFact>
}

export const NO_STATE: AccountState = { plan: null, keys: new Map() }

export interface Fill {
  plan: PlanFacts
  keys: readonly { keyHash: string; version: number; active: boolean }[]
}

export function fill(held: AccountState, { plan, keys }: Fill, nowMs: number): AccountState {
  const newer = !held.plan || plan.version >= held.plan.version
  const merged = new Map(held.keys)
  for (const { keyHash, version, active } of keys) {
    const known = merged.get(keyHash)
    const stands = known ? version < known.version || (version === known.version && active) : active && !newer
    if (!stands) merged.set(keyHash, { version, active, writtenAtMs: nowMs })
  }
  return { plan: newer ? plan : held.plan, keys: pruned(merged, nowMs) }
}

export function deactivate(held: AccountState, key: { keyHash: string; version: number }, nowMs: number): AccountState {
  const version = Math.max(key.version, held.keys.get(key.keyHash)?.version ?? 0)
  const keys = new Map(held.keys).set(key.keyHash, { version, active: false, writtenAtMs: nowMs })
  return { ...held, keys: pruned(keys, nowMs) }
}

function pruned(keys: Map<string, KeyFact>, nowMs: number): ReadonlyMap<string, KeyFact> {
  if (keys.size <= PRUNE_ABOVE) return keys
  const kept = [...keys].filter(([, key]) => key.active || key.writtenAtMs >= nowMs - DEAD_KEY_KEPT_MS)
  const dead = kept.filter(([, key]) => !key.active)
  if (dead.length <= DEAD_KEYS_AT_MOST) return new Map(kept)
  const inOrder = dead.toSorted(([, a], [, b]) => a.writtenAtMs - b.writtenAtMs || a.version - b.version)
  const forgotten = new Set(inOrder.slice(0, -DEAD_KEYS_AT_MOST / 2).map(([keyHash]) => keyHash))
  return new Map(kept.filter(([keyHash]) => !forgotten.has(keyHash)))
}

/** A key that is alive comes with its plan; a dead one is always dead. */
export type KeyState = { kind: 'active'; plan: PlanFacts } | { kind: 'dead' } | { kind: 'unknown' }

export function keyState(state: AccountState, keyHash: string, window: string): KeyState {
  const key = state.keys.get(keyHash)
  if (key && !key.active) return { kind: 'dead' }
  const plan = presentPlan(state, window)
  return key && plan ? { kind: 'active', plan } : { kind: 'unknown' }
}

/** A later window than the state's begins without top-ups, unless some are known to wait. Null: keys must fill it. */
export function presentPlan({ plan }: AccountState, window: string): PlanFacts | null {
  if (!plan || plan.window === window) return plan
  const isOver = plan.window !== '' && plan.window < window
  return isOver && !plan.moreLater ? { ...plan, extra: 0 } : null
}
