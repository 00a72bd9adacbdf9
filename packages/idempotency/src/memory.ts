/**
 * Idempotency inside one process: for standalone. Forgets everything with it. Never unavailable.
 */

import type { Claim, ClaimResult, IdempotencyStore, ClientKey } from './port.ts'

/** The store forgets a dead owner's entry this long after its lease, as in Redis. */
const ABANDONED_MS = 900_000
const SWEEP_EVERY_MS = 60_000

type Entry = Omit<Claim, keyof ClientKey> & { goesAtMs: number } & (
    | { state: 'running'; lapsesAtMs: number }
    | { state: 'kept'; response: Uint8Array; settled: boolean }
  )

interface Account {
  /** By key, those written last at the end. */
  entries: Map<string, Entry>
  keptBytes: number
}

export function openMemoryIdempotency({ now = Date.now }: { now?: () => number } = {}): IdempotencyStore {
  const accounts = new Map<string, Account>()
  const sweeping = setInterval(() => forgetGone(accounts, now()), SWEEP_EVERY_MS).unref()

  function find({ account, name }: ClientKey): Entry | undefined {
    const entry = accounts.get(account)?.entries.get(name)
    return entry && entry.goesAtMs > now() ? entry : undefined
  }

  function write({ account: name, ...key }: ClientKey, entry: Entry): Account {
    const account = accounts.get(name) ?? { entries: new Map<string, Entry>(), keptBytes: 0 }
    accounts.set(name, account)
    remove(account, key.name)
    account.entries.set(key.name, entry)
    if (entry.state === 'kept') account.keptBytes += entry.response.byteLength
    return account
  }

  function hold(claim: Claim, leaseMs: number): void {
    const lapsesAtMs = now() + leaseMs
    write(claim, { state: 'running', ...entryOf(claim), lapsesAtMs, goesAtMs: lapsesAtMs + ABANDONED_MS })
  }

  return {
    claim: async (claim, { leaseMs, after }) => {
      const entry = find(claim)
      const lapsed = entry?.state === 'running' && entry.lapsesAtMs <= now()
      const isFree = !entry || (entry.state === 'running' && entry.requestId === claim.requestId)
      if (!isFree && !(lapsed && entry.requestId === after)) return responseFor(entry, lapsed)
      hold(claim, leaseMs)
      return { kind: 'claimed' }
    },

    renew: async (claims, leaseMs) => {
      const lost = claims.filter((claim) => {
        const entry = find(claim)
        if (entry && entry.requestId !== claim.requestId) return true
        if (entry?.state !== 'kept') hold(claim, leaseMs)
        return false
      })
      return lost.map(({ requestId }) => requestId)
    },

    keep: async (claim, response, { forMs, accountBytes }) => {
      const entry = find(claim)
      if (entry && entry.requestId !== claim.requestId) return false
      if (entry?.state === 'kept') return true
      const kept = { state: 'kept', ...entryOf(claim), response, settled: false, goesAtMs: now() + forMs } as const
      keepWithin(write(claim, kept), accountBytes)
      return true
    },

    settle: async (held) => {
      const entry = find(held)
      if (entry?.requestId === held.requestId && entry.state === 'kept') entry.settled = true
    },

    release: async (held) => {
      const account = accounts.get(held.account)
      if (account && find(held)?.requestId === held.requestId) remove(account, held.name)
    },

    [Symbol.asyncDispose]: async () => clearInterval(sweeping),
  }
}

function entryOf({ requestId, owner, fingerprint }: Claim): Omit<Claim, keyof ClientKey> {
  return { requestId, owner, fingerprint }
}

function responseFor(entry: Entry, lapsed: boolean): ClaimResult {
  const { fingerprint, requestId, owner } = entry
  if (entry.state === 'running') return { kind: 'running', fingerprint, requestId, owner, lapsed }
  return { kind: 'kept', fingerprint, requestId, response: entry.response, settled: entry.settled }
}

function remove(account: Account, name: string): void {
  const entry = account.entries.get(name)
  if (entry?.state === 'kept') account.keptBytes -= entry.response.byteLength
  account.entries.delete(name)
}

function keepWithin(account: Account, bytes: number): void {
  for (const [name, entry] of account.entries) {
    if (account.keptBytes <= bytes) return
    if (entry.state === 'kept') remove(account, name)
  }
}

function forgetGone(accounts: Map<string, Account>, nowMs: number): void {
  for (const [name, account] of accounts) {
    for (const [key, entry] of account.entries) if (entry.goesAtMs <= nowMs) remove(account, key)
    if (account.entries.size === 0) accounts.delete(name)
  }
}
