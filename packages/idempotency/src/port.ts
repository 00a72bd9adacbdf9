/**
 * The state of an `Idempotency-Key`: free, held by a running request, or with a kept response.
 *
 * A key belongs to an account and is claimed by one request at a time. The claim is a lease that its owner renews. Once it has
 * lapsed, a request that also knows its owner to be silent may take the key over. Responses are opaque bytes, sealed by the edge,
 * and expire by themselves. Two adapters keep the same promises (one conformance suite runs on both): `redis.ts`, which all edges
 * share, and `memory.ts`.
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
  /** A keyed hash of the request's body: a later request with the same fingerprint is the same one. */
  fingerprint: string
}

export type ClaimResult =
  /** The key is the caller's now. */
  | { kind: 'claimed' }
  /** Another request runs under it; `lapsed`: its owner has not renewed it in time. */
  | { kind: 'running'; fingerprint: string; requestId: string; owner: string; lapsed: boolean }
  /** Its response is kept; `settled`: its usage is known to be stored. */
  | { kind: 'kept'; fingerprint: string; requestId: string; response: Uint8Array; settled: boolean }

interface Keeping {
  /** The store deletes the response after this time. */
  forMs: number
  /** An account's responses take no more than this; the oldest go first. */
  accountBytes: number
}

/**
 * The store did not reply in time, or is away. The call may have taken effect; a caller may repeat each with the same arguments.
 */
export class IdempotencyUnavailableError extends Error {
  override name = 'IdempotencyUnavailableError'
}

/** Every call rejects with {@link IdempotencyUnavailableError} when the store does not reply in time; none hangs. */
export interface IdempotencyStore extends AsyncDisposable {
  /**
   * Takes the key where nobody has it, or where the request `after` had it and its lease has lapsed; else returns the present state.
   */
  claim(claim: Claim, options: { leaseMs: number; after?: string }): Promise<ClaimResult>
  /** Renews the claims, also those that the store has forgotten. Returns the ids of those that others hold by now. */
  renew(claims: Claim[], leaseMs: number): Promise<string[]>
  /** Keeps the response of a claim, which ends the claim. Returns false, and keeps nothing, when another request has the key by now. */
  keep(claim: Claim, response: Uint8Array, keeping: Keeping): Promise<boolean>
  /** Marks that the usage of the kept response is stored. */
  settle(held: HeldKey): Promise<void>
  /** Frees the key, unless another request has it by now. */
  release(held: HeldKey): Promise<void>
}
