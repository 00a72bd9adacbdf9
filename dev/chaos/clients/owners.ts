/**
 * The accounts of a run, and the state of their keys: the current one, the surely dead ones, and those that only the
 * gateway knows.
 */

import { parseKey } from '@gateway/contracts/api-key'
import type { OwnerKind } from '../plan/owners.ts'
import type { Seen } from './seen.ts'

export interface Owner {
  readonly name: string
  readonly kind: OwnerKind
  /** Of a person's sign-in. */
  readonly token: string
  /** Of a project's key: its own id and that of its project. */
  project?: { readonly id: string; keyId: string }
  /** The account's tag, which names it in the ledger and in Redis. */
  readonly account: string
  key: string
  /** A rotation or revocation is under way: one at a time. */
  isChanging: boolean
  /** Its key has ended, and nobody makes it another. */
  isOver?: boolean
}

interface KeyLife {
  /** Changes without a response yet, or with an error. */
  unsureSinceMs: number | null
  /** The time at which its rotation or revocation had returned 200. */
  deadSinceMs: number | null
  /** When the gateway said it would expire, in whole seconds. */
  expiresAtMs: number | null
}

/** A response names the second only, and the key ends within it. */
const EXPIRES_WITHIN_MS = 1_000

export interface Keyring {
  of(name: string): Owner
  readonly owners: readonly Owner[]
  add(owner: Owner): void
  /** Keys that are surely dead, in the order of their deaths. */
  readonly dead: readonly { owner: Owner; key: string }[]
  unsure(key: string): void
  died(owner: Owner, key: string): void
  expires(owner: Owner, key: string, atMs: number): void
  /** The state of the key as known to a client that sent a request with it at this time, and now has its response. */
  stateFor(key: string, sentAtMs: number): Seen['keyState']
}

export function openKeyring(first: readonly Owner[]): Keyring {
  const owners = [...first]
  const byName = new Map(owners.map((owner) => [owner.name, owner]))
  const lives = new Map<string, KeyLife>()
  const dead: { owner: Owner; key: string }[] = []
  const lifeOf = (key: string): KeyLife => {
    const life = lives.get(key) ?? { unsureSinceMs: null, deadSinceMs: null, expiresAtMs: null }
    lives.set(key, life)
    return life
  }
  return {
    owners,
    dead,
    add(owner) {
      owners.push(owner)
      byName.set(owner.name, owner)
    },
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
    expires(owner, key, atMs) {
      lifeOf(key).expiresAtMs = atMs
      dead.push({ owner, key })
    },
    stateFor(key, sentAtMs) {
      const { unsureSinceMs, deadSinceMs, expiresAtMs } = lifeOf(key)
      if (deadSinceMs !== null && deadSinceMs < sentAtMs) return 'dead'
      if (expiresAtMs !== null && expiresAtMs + EXPIRES_WITHIN_MS < sentAtMs) return 'dead'
      const mayHaveExpired = expiresAtMs !== null && expiresAtMs <= Date.now()
      return unsureSinceMs === null && !mayHaveExpired ? 'alive' : 'unsure'
    },
  }
}

export function ownerWith({ name, kind }: { name: string; kind: OwnerKind }, token: string, key: string): Owner {
  const parsed = parseKey(key)
  if (!parsed) throw new Error(`${name} was given something that is no key`)
  return { name, kind, token, account: parsed.accountTag, key, isChanging: false }
}
