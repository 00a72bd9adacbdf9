/**
 * Who is asking. What a header shows offline (nothing, another kind of token, a checksum that is off) is decided here;
 * whether a key is alive is admission's answer, in the same call that admits. `proveKey` asks that alone, for routes
 * that admit nothing and before an error that only a proven caller may see.
 *
 * Inference takes a key, or a sign-in token that acts through its account's active key. Key management takes a sign-in
 * token only. What an account asks about itself takes either, and needs no active key to go with the token.
 */

import { hash } from 'node:crypto'
import { AdmissionUnavailableError } from '@gateway/admission/unavailable'
import type { KeyOwner } from '@gateway/contracts/developer-keys-api'
import { GatewayError } from '@gateway/contracts/errors'
import { readBearer, type Bearer } from './core/read-bearer.ts'
import type { Edge } from './edge.ts'
import { invalidToken } from './sign-in/verify-token.ts'
import type { Step, StepResponse } from './walk.ts'

export interface Caller {
  account: string
  keyId: string
  /** SHA-256 of the whole key, base64url. */
  keyHash: string
}

export interface ProvenCaller extends Caller {
  plan: string
  /** Requests beyond the allowance are admitted too. */
  overage: boolean
  /** Top-ups of the current window, in the plan's smallest unit. */
  extra: number
  /** In the current window, as admission has it; null while that is not known. */
  used: number | null
}

export function requireKey(edge: Edge): Step {
  return async (request, response, next) => {
    response.locals['caller'] = await callerOf(edge, readBearer(request.headers.authorization))
    next()
  }
}

export function callerFrom(response: StepResponse): Caller {
  return response.locals['caller'] as Caller
}

export function requireSignIn(edge: Edge): Step {
  return async (request, response, next) => {
    const bearer = readBearer(request.headers.authorization)
    if (bearer.kind === 'none') throw noAuth()
    if (bearer.kind !== 'other') throw invalidToken()
    response.locals['owner'] = await edge.verifySignIn(bearer.value)
    next()
  }
}

export function ownerFrom(response: StepResponse): KeyOwner {
  return response.locals['owner'] as KeyOwner
}

/** Whose account it is; null for whoever signed in and never minted a key. */
export function requireAccount(edge: Edge): Step {
  return async (request, response, next) => {
    response.locals['account'] = await accountOf(edge, readBearer(request.headers.authorization))
    next()
  }
}

export function accountFrom(response: StepResponse): string | null {
  return response.locals['account'] as string | null
}

export function hashKey(key: string): string {
  return hash('sha256', key, 'base64url')
}

export function invalidKey(): GatewayError {
  return new GatewayError('INVALID_KEY', 'Invalid key')
}

function noAuth(): GatewayError {
  return new GatewayError('NO_AUTH', 'Unauthorized')
}

async function callerOf(edge: Edge, bearer: Bearer): Promise<Caller> {
  switch (bearer.kind) {
    case 'none':
      throw noAuth()
    case 'malformed_key':
      throw invalidKey()
    case 'key':
      return { account: bearer.parsed.accountTag, keyId: bearer.parsed.keyId, keyHash: hashKey(bearer.key) }
    case 'other': {
      const owner = await edge.verifySignIn(bearer.value)
      const session = await edge.keys.findSession({ owner })
      if (session.kind === 'none') throw invalidKey()
      return { account: session.account, keyId: session.keyId, keyHash: session.keyHash }
    }
  }
}

async function accountOf(edge: Edge, bearer: Bearer): Promise<string | null> {
  if (bearer.kind === 'other') {
    const owner = await edge.verifySignIn(bearer.value)
    const reply = await edge.keys.findAccount({ owner })
    return reply.kind === 'found' ? reply.account : null
  }
  const { account } = await proveKey(edge, await callerOf(edge, bearer))
  return account
}

/** Throws INVALID_KEY unless the key is alive; asks keys once where the admission store does not know it. */
export async function proveKey(edge: Edge, caller: Caller): Promise<ProvenCaller> {
  for (let filled = false; ; filled = true) {
    const answer = await orUnavailable(edge.admission.authenticate(caller))
    if (answer.kind === 'active') {
      const { plan, overage, extra, used } = answer
      return { ...caller, plan, overage, extra, used }
    }
    if (answer.kind === 'deny') throw invalidKey()
    if (filled) throw new GatewayError('SERVICE_UNAVAILABLE', 'The key could not be checked; try again shortly')
    await fillKey(edge, caller)
  }
}

/** Has keys write the account into the admission store. Throws INVALID_KEY when keys does not know the key. */
export async function fillKey(edge: Edge, caller: Caller): Promise<string> {
  if (edge.plans.isUnknownKey(caller.keyHash)) throw invalidKey()
  const reply = await edge.keys.fill({ account: caller.account, keyHash: caller.keyHash })
  if (reply.kind === 'unknown') {
    edge.plans.rememberUnknownKey(caller.keyHash)
    throw invalidKey()
  }
  edge.plans.remember(caller.account, reply.plan)
  return reply.plan
}

/** An admission store that is away is the gateway's fault and passes: 503. */
export async function orUnavailable<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer
  } catch (cause) {
    if (!(cause instanceof AdmissionUnavailableError)) throw cause
    throw new GatewayError('SERVICE_UNAVAILABLE', 'Admission is not available; try again shortly', {}, { cause })
  }
}
