/**
 * What is known under an `Idempotency-Key`: nobody uses it, a request that runs, or an answer that is kept.
 *
 * A key belongs to an account and is claimed by one request at a time. The claim is a lease that its owner renews; once it
 * has lapsed, whoever also knows that the owner is silent may take the key over. Answers are opaque bytes, sealed by
 * those who keep them, and go by themselves. Two adapters keep the same promises (one conformance suite runs on both):
 * `redis.ts`, which all edges share, and `memory.ts`.
 */

/** A client's key within its account. */
export interface ClientKey {
  account: string
  /** The key, in a form that does not show it. */
  name: string
}

/** The key and the request that holds it. */
export type HeldKey = ClientKey & { requestId: string }

/** One request's hold on a key. The request id makes it unlike any other claim on that key. */
export interface Claim extends ClientKey {
  requestId: string
  /** The process that runs the request. */
  owner: string
  /** What was asked, in a form that does not show it; a later request is the same one where this is the same. */
  fingerprint: string
}

export type ClaimResult =
  /** The key is the asker's now. */
  | { kind: 'claimed' }
  /** Another request runs under it; `lapsed`: its owner has not renewed it in time. */
  | { kind: 'running'; fingerprint: string; requestId: string; owner: string; lapsed: boolean }
  /** Its answer is kept; `settled`: its usage is known to be stored. */
  | { kind: 'kept'; fingerprint: string; requestId: string; answer: Uint8Array; settled: boolean }

interface Keeping {
  /** The answer is forgotten after this long. */
  forMs: number
  /** An account's answers take no more than this; the oldest go first. */
  accountBytes: number
}

/**
 * The store did not answer in time, or is away. Whether the call took effect is not known; each may be repeated with the
 * same arguments.
 */
export class IdempotencyUnavailableError extends Error {
  override name = 'IdempotencyUnavailableError'
}

/** Every call rejects with {@link IdempotencyUnavailableError} when the store does not answer in time; none hangs. */
export interface IdempotencyStore extends AsyncDisposable {
  /**
   * Takes the key where nobody has it, or where the request `after` had it and its lease has lapsed; else says what
   * stands there.
   */
  claim(claim: Claim, options: { leaseMs: number; after?: string }): Promise<ClaimResult>
  /** Holds them on, again where the store has forgotten them. Answers the ids of those that others have by now. */
  renew(claims: Claim[], leaseMs: number): Promise<string[]>
  /** Keeps the answer of a claim, which ends it. False: another has the key by now, and nothing was kept. */
  keep(claim: Claim, answer: Uint8Array, keeping: Keeping): Promise<boolean>
  /** The usage of the kept answer is stored. */
  settle(held: HeldKey): Promise<void>
  /** Frees the key, unless another request has it by now. */
  release(held: HeldKey): Promise<void>
}
