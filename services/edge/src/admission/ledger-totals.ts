/**
 * The age of each account's total from the ledger, and the ended requests that the total surely includes.
 *
 * A total includes the requests that had ended before the edge read the total before it. Until then such a request counts
 * twice, which never admits too much.
 */

export const TOTAL_MAX_AGE_MS = 5_000
/** When full, the cache forgets all accounts: ended requests then count twice for longer, never too little. */
const MAX_ACCOUNTS = 100_000

interface LedgerTotal {
  readAtMs: number
  endedBefore: string[]
  endedSince: string[]
}

export class LedgerTotals {
  readonly #accounts = new Map<string, LedgerTotal>()

  isFresh(account: string): boolean {
    return performance.now() - this.#of(account).readAtMs < TOTAL_MAX_AGE_MS
  }

  ended(account: string, requestId: string): void {
    this.#of(account).endedSince.push(requestId)
  }

  /** Returns the requests that the total which was just read includes. */
  refreshed(account: string): string[] {
    const { endedBefore, endedSince } = this.#of(account)
    this.#accounts.set(account, { readAtMs: performance.now(), endedBefore: endedSince, endedSince: [] })
    return endedBefore
  }

  #of(account: string): LedgerTotal {
    const known = this.#accounts.get(account) ?? { readAtMs: -Infinity, endedBefore: [], endedSince: [] }
    if (this.#accounts.size >= MAX_ACCOUNTS) this.#accounts.clear()
    this.#accounts.set(account, known)
    return known
  }
}
