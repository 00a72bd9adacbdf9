/**
 * The age of each account's total from the ledger, and the ended requests that the total surely includes. Totals of keys with a
 * monthly limit of their own are read together with their account's.
 *
 * A total includes the requests that had ended before the edge read the total before it. Until then such a request counts
 * twice, which never admits too much.
 */

export const TOTAL_MAX_AGE_MS = 5_000
/** When full, the cache forgets all accounts: ended requests then count twice for longer, never too little. */
const MAX_ACCOUNTS = 100_000
/** One call reads so many. Beyond them the totals of the others are read again at their next request. */
const MAX_KEYS = 1_000

interface LedgerTotal {
  readAtMs: number
  endedBefore: string[]
  endedSince: string[]
  /** The keys whose totals the edge needs. */
  needed: Set<string>
  /** Those that were read with the account's total. */
  read: ReadonlySet<string>
}

export class LedgerTotals {
  readonly #accounts = new Map<string, LedgerTotal>()

  /** `keyId`: its own total is needed, too. */
  isFresh(account: string, keyId?: string): boolean {
    const { readAtMs, read } = this.#of(account)
    return performance.now() - readAtMs < TOTAL_MAX_AGE_MS && (keyId === undefined || read.has(keyId))
  }

  needs(account: string, keyId: string): void {
    const { needed } = this.#of(account)
    if (needed.size >= MAX_KEYS && !needed.has(keyId)) needed.clear()
    needed.add(keyId)
  }

  keysOf(account: string): string[] {
    return [...this.#of(account).needed]
  }

  ended(account: string, requestId: string): void {
    this.#of(account).endedSince.push(requestId)
  }

  /** Returns the requests that the total which was just read includes. `keyIds`: the keys whose totals were read with it. */
  refreshed(account: string, keyIds: readonly string[] = []): string[] {
    const { endedBefore, endedSince, needed } = this.#of(account)
    const read = new Set(keyIds)
    this.#accounts.set(account, { readAtMs: performance.now(), endedBefore: endedSince, endedSince: [], needed, read })
    return endedBefore
  }

  #of(account: string): LedgerTotal {
    const known = this.#accounts.get(account) ?? {
      readAtMs: -Infinity,
      endedBefore: [],
      endedSince: [],
      needed: new Set(),
      read: new Set(),
    }
    if (this.#accounts.size >= MAX_ACCOUNTS) this.#accounts.clear()
    this.#accounts.set(account, known)
    return known
  }
}
