/**
 * The credentials that a route can ask for. Each proves a request before any of the route's own code runs, and hands on
 * the principal that the route's handler works for.
 */

import type { KeyOwner } from '@gateway/contracts/developer-keys-api'
import { claimKey, findAccount, proveKey, signIn, type Caller, type ProvenCaller } from './authenticate.ts'
import type { Edge } from '../edge.ts'
import { makeRoom } from '../read/make-room.ts'
import type { StepRequest, StepResponse } from '../listen/take-steps.ts'

/** The principal of each credential. */
export interface Principals {
  /** Anybody. */
  none: null
  /** A live key, or a sign-in token that acts through its account's active key. */
  key: ProvenCaller
  /** The same. The call that admits the request proves the key, so only inference can ask for it. */
  'key at admission': Caller
  /** A live key, or a sign-in token, which needs no active key. Null: somebody who never minted a key. */
  account: string | null
  /** A sign-in token, and no key. */
  'sign-in': KeyOwner
}

export type Credential = keyof Principals

/** Resolves with the principal, or rejects with the refusal. */
export type Prove<Principal> = (edge: Edge, request: StepRequest, response: StepResponse) => Promise<Principal>

export const proofs: { [Name in Credential]: Prove<Principals[Name]> } = {
  none: async () => null,
  key: async (edge, request) => proveKey(edge, await claimKey(edge, request)),
  async 'key at admission'(edge, request, response) {
    const caller = await claimKey(edge, request)
    await makeRoom(edge, request, response, caller)
    return caller
  },
  account: findAccount,
  'sign-in': signIn,
}
