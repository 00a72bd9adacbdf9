/**
 * The part of an account's state that the keys service owns. Facts come in any order and more than once; the newest version stands, and
 * of two facts of the same version the one that refuses. Facts older than those held do not bring an unknown key to life:
 * it may have died since, and its mark may have gone.
 */

import type { KeyLimits, PolicyFacts, ProjectFacts } from '../port.ts'
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
  /** Of a project's key. */
  readonly limits: KeyLimits | null
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
  readonly project: ProjectFacts | null
  /** Facts of this version and older ones bring no key to life. */
  readonly closedAtVersion: number
  readonly keys: ReadonlyMap<string, KeyFact>
}

const NEVER = -1
export const NO_STATE: AccountState = { plan: null, project: null, closedAtVersion: NEVER, keys: new Map() }

export interface Fill {
  plan: PlanFacts
  project?: ProjectFacts | undefined
  keys: readonly { keyHash: string; version: number; active: boolean; limits?: KeyLimits | undefined }[]
}

export function fill(held: AccountState, { plan, project, keys }: Fill, nowMs: number): AccountState {
  const newer = !held.plan || plan.version >= held.plan.version
  const isClosed = plan.version <= held.closedAtVersion
  const merged = new Map(held.keys)
  for (const { keyHash, version, active: isFilledActive, limits } of keys) {
    const known = merged.get(keyHash)
    const active = isFilledActive && !isClosed
    const stands = known ? version < known.version || (version === known.version && active) : active && !newer
    if (!stands) merged.set(keyHash, { version, active, writtenAtMs: nowMs, limits: (active && limits) || null })
  }
  const facts = newer ? { plan, project: project ?? held.project } : held
  return { ...held, plan: facts.plan, project: facts.project, keys: pruned(merged, nowMs) }
}

export function deactivate(held: AccountState, key: { keyHash: string; version: number }, nowMs: number): AccountState {
  const keys = new Map(held.keys).set(key.keyHash, deadKey(held.keys.get(key.keyHash), key.version, nowMs))
  return { ...held, keys: pruned(keys, nowMs) }
}

/** All keys die. Those that the store does not know are dead in facts of this version and older ones. */
export function closeAccount(held: AccountState, version: number, nowMs: number): AccountState {
  const dead = [...held.keys].map(([keyHash, key]): [string, KeyFact] => [keyHash, deadKey(key, version, nowMs)])
  const closedAtVersion = Math.max(held.closedAtVersion, version)
  return { ...held, closedAtVersion, keys: pruned(new Map(dead), nowMs) }
}

function deadKey(known: KeyFact | undefined, version: number, nowMs: number): KeyFact {
  return { version: Math.max(version, known?.version ?? 0), active: false, writtenAtMs: nowMs, limits: null }
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

/** A project's key, its limits and those of its project. */
export interface ProjectKey {
  limits: KeyLimits
  facts: ProjectFacts
  policy: PolicyFacts
}

/** A key that is alive comes with its plan; a dead one is always dead. `project`: null for a key without one. */
export type KeyState =
  | { kind: 'active'; plan: PlanFacts; project: ProjectKey | null }
  | { kind: 'dead' }
  | { kind: 'unknown' }

export function keyState(
  state: AccountState,
  keyHash: string,
  { window, nowMs }: { window: string; nowMs: number },
): KeyState {
  const key = state.keys.get(keyHash)
  if (key && (!key.active || isExpired(key, nowMs))) return { kind: 'dead' }
  const plan = presentPlan(state, window)
  if (!key || !plan) return { kind: 'unknown' }
  const { limits, version } = key
  if (!limits) return { kind: 'active', plan, project: null }
  if (!state.project) return { kind: 'unknown' }
  const hint = `${state.project.policyVersion}.${version}.${limits.keyId}`
  const policy = { hint, project: state.project.policy, key: limits.policy }
  return { kind: 'active', plan, project: { limits, facts: state.project, policy } }
}

function isExpired({ limits }: KeyFact, nowMs: number): boolean {
  return limits !== null && limits.expiresAtMs !== null && limits.expiresAtMs <= nowMs
}

/** A later window than the state's begins without top-ups, unless some are known to wait. Null: keys must fill it. */
export function presentPlan({ plan }: AccountState, window: string): PlanFacts | null {
  if (!plan || plan.window === window) return plan
  const isOver = plan.window !== '' && plan.window < window
  return isOver && !plan.moreLater ? { ...plan, extra: 0 } : null
}
