/**
 * The accounts of a run, and the state of their keys: the current one, the surely dead ones, and those that only the
 * gateway knows.
 */

import { parseKey } from '@gateway/contracts/api-key'
import type { OwnerKind, OwnerName } from '../plan/owners.ts'
import type { Seen } from './seen.ts'

export interface Owner {
  readonly name: string
  readonly kind: OwnerKind
  readonly token: string
  /** The account's tag, which names it in the ledger and in Redis. */
  readonly account: string
  key: string
  /** A rotation or revocation is under way: one at a time. */
  isChanging: boolean
}

interface KeyLife {
  /** Changes without a response yet, or with an error. */
  unsureSinceMs: number | null
  /** The time at which its rotation or revocation had returned 200. */
  deadSinceMs: number | null
}

export interface Keyring {
  of(name: string): Owner
  readonly owners: readonly Owner[]
  /** Keys that are surely dead, in the order of their deaths. */
  readonly dead: readonly { owner: Owner; key: string }[]
  unsure(key: string): void
  died(owner: Owner, key: string): void
  /** The state of the key as known to a client that sent a request with it at this time. */
  stateFor(key: string, sentAtMs: number): Seen['keyState']
}

export function openKeyring(owners: readonly Owner[]): Keyring {
  const byName = new Map(owners.map((owner) => [owner.name, owner]))
  const lives = new Map<string, KeyLife>()
  const dead: { owner: Owner; key: string }[] = []
  const lifeOf = (key: string): KeyLife => {
    const life = lives.get(key) ?? { unsureSinceMs: null, deadSinceMs: null }
    lives.set(key, life)
    return life
  }
  return {
    owners,
    dead,
    of(name) {
      const owner = byName.get(name)
      if (!owner) throw new Error(`there is no owner ${name}`)
      return owner
    },
    unsure: (key) => void (lifeOf(key).unsureSinceMs ??= Date.now()),
    died(owner, key) {
      lifeOf(key).deadSinceMs = Date.now()
      dead.push({ owner, key })
    },
    stateFor(key, sentAtMs) {
      const { unsureSinceMs, deadSinceMs } = lifeOf(key)
      if (deadSinceMs !== null && deadSinceMs < sentAtMs) return 'dead'
      return unsureSinceMs === null ? 'alive' : 'unsure'
    },
  }
}

export function ownerWith({ name, kind }: OwnerName, token: string, key: string): Owner {
  const parsed = parseKey(key)
  if (!parsed) throw new Error(`${name} was given something that is no key`)
  return { name, kind, token, account: parsed.accountTag, key, isChanging: false }
}
