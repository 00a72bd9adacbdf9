/**
 * The store's state of an account, for a comparison with its owners' tables.
 */

export interface HeldAccount {
  /** The store's present one; all that follows is of it. */
  window: string
  /** Null where admission would return `miss`. */
  facts: { version: number; plan: string; overage: boolean; extra: number } | null
  keys: { keyHash: string; version: number; active: boolean }[]
  /** Null where admission would return `cold`, or where no request came since the window began. */
  total: { settled: number; version: number } | null
  /** The sums that admission goes by. */
  running: number
  ended: number
  /** Of keys whose total is known: only keys with limits of their own have one. */
  keyTotals: { keyId: string; settled: number; version: number; running: number; ended: number }[]
  /** The states that the sums are of. `lapsed`: runs, and its lease is over or gone. `keyId`: of a project's key. */
  requests: { requestId: string; state: 'running' | 'ended'; amount: number; lapsed: boolean; keyId: string | null }[]
}
