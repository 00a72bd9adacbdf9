/**
 * Compares an account in the admission store with this service's own tables. Limits have the version of the change that wrote
 * them, so the versions of a project's key show whether the store has its present limits.
 *
 * The tables are right, with one exception: a key that the store has buried stays dead. Its owner knows that it is dead. A table
 * that holds it alive comes from an older backup.
 */

import type { HeldAccount } from '@gateway/admission/held-account'
import type { Drift } from '@gateway/contracts/reconcile-api'

export interface OwnState {
  account: string
  version: number
  plan: string
  overage: boolean
  /** Top-ups of the store's present window, in the plan's smallest unit. */
  extra: number
}

export interface OwnKeyState {
  keyId: string
  keyHash: string
  version: number
  active: boolean
  /** Of a project's key. */
  hasLimits: boolean
  /** Dead until an operator restores its account. */
  suspended: boolean
}

type StateRepair =
  /** The account's version becomes at least this, and the repair writes its state again. */
  | { kind: 'fill'; version: number }
  /** The key is written again with its limits, at this version or a later one. */
  | { kind: 'limits'; keyId: string; keyHash: string; version: number }
  | { kind: 'deactivate'; keyHash: string; version: number }
  | { kind: 'revoke'; keyId: string }

export interface StateFinding extends Omit<Drift, 'repaired'> {
  id: string
  repair: StateRepair
}

export function compareState(held: HeldAccount, own: OwnState, keys: readonly OwnKeyState[]): StateFinding[] {
  const known = new Map(keys.map((key) => [key.keyHash, key]))
  return [
    ...compareAccount(held, own),
    ...held.keys.flatMap((key) => compareKey(own.account, key, known.get(key.keyHash))),
  ]
}

function compareAccount({ facts }: HeldAccount, own: OwnState): StateFinding[] {
  if (facts === null) return []
  const [store, truth] = [describeFacts(facts), describeFacts(own)]
  if (store === truth) return []
  const version = facts.version > own.version ? facts.version + 1 : own.version
  const { account } = own
  return [{ account, kind: 'account', store, truth, id: `${account} ${store}`, repair: { kind: 'fill', version } }]
}

function describeFacts({ version, plan, overage, extra }: Omit<OwnState, 'account'>): string {
  return `${plan}, overage ${overage ? 'on' : 'off'}, top-ups ${extra} (version ${version})`
}

function compareKey(account: string, held: HeldAccount['keys'][number], own: OwnKeyState | undefined): StateFinding[] {
  const { keyHash, version } = held
  const about = { account, kind: 'key', id: `${account} ${keyHash}` } as const
  if (held.active) {
    if (own?.active) return compareLimits(account, held, own)
    // A tombstone would outlive the suspension.
    const rewritten = own?.suspended && {
      kind: 'limits' as const,
      keyId: own.keyId,
      keyHash,
      version: Math.max(version + 1, own.version),
    }
    const buried = { kind: 'deactivate', keyHash, version: Math.max(version, own?.version ?? 0) + 1 } as const
    const truth = own ? `${own.keyId} is ${own.suspended ? 'suspended' : 'deactivated'}` : 'there is no such key'
    return [{ ...about, store: `${nameOf(own, keyHash)} is active`, truth, repair: rewritten || buried }]
  }
  if (!own?.active || version < own.version) return []
  const { keyId } = own
  const truth = `revoked, and ${keyId} is still active in the table`
  return [{ ...about, store: `${keyId} is deactivated`, truth, repair: { kind: 'revoke', keyId } }]
}

function compareLimits(account: string, held: HeldAccount['keys'][number], own: OwnKeyState): StateFinding[] {
  const { keyId, keyHash } = own
  if (!own.hasLimits || held.version === own.version) return []
  const version = held.version > own.version ? held.version + 1 : own.version
  const describe = (of: number) => `${keyId} has its limits of version ${of}`
  const id = `${account} ${keyHash} ${held.version}`
  const repair = { kind: 'limits', keyId, keyHash, version } as const
  return [{ account, kind: 'key', id, store: describe(held.version), truth: describe(own.version), repair }]
}

/** Of a key that the table does not have, only its hash is known. */
function nameOf(own: OwnKeyState | undefined, keyHash: string): string {
  return own ? own.keyId : `a key of hash ${keyHash.slice(0, 8)}…`
}
