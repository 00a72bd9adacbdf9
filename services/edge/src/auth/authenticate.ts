/**
 * The credentials that a route can require. Each proves a request before any of the route's own code runs, and hands on the
 * principal for the route's handler.
 *
 * The header alone decides most refusals: no credential, another kind of token, a wrong checksum. The admission store
 * decides whether a key is alive: in the call that admits, or for `proveKey`.
 */

import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { AdmissionUnavailableError, type EdgeAdmission, type KeyState } from '@gateway/admission/port'
import type { AdministrationCredential } from '@gateway/contracts/administration/envelope'
import type { KeyOwner } from '@gateway/contracts/developer-keys-api'
import { GatewayError } from '@gateway/contracts/errors'
import type { Policy } from '../core/policy.ts'
import type { KeysClient } from '../rpc/service-clients.ts'
import type { AccountCache } from './account-cache.ts'
import { type Bearer, readCredential, type Wanted } from './read-credential.ts'
import type { VerifyPerson } from './rights.ts'
import { invalidToken, type VerifySignIn } from './verify-token.ts'

/** The ports that prove a credential. */
export interface AuthContext {
  admission: EdgeAdmission
  keys: KeysClient
  plans: AccountCache
  verifySignIn: VerifySignIn
  /** With the rights that the token's claims give. */
  verifyPerson: VerifyPerson
}

/** A key, not proven to be alive. */
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
  /** Of a project's key. */
  project: ProjectOfKey | null
}

interface ProjectOfKey {
  /** Of a month, in the plan's smallest unit; it holds with overage, too. */
  hardLimit: number | null
  policy: Policy
}

/** The principal of each credential. */
export interface Principals {
  /** Anybody. */
  none: null
  /** A live key, or a sign-in token that acts through its account's active key. */
  key: ProvenCaller
  /** The same. The call that admits the request proves the key, so only inference can require it. */
  'key at admission': Caller
  /** A live key, or a sign-in token, which needs no active key. Null: somebody who never minted a key. */
  account: string | null
  /** A sign-in token, and no key. */
  'sign-in': KeyOwner
  /** A signature of the body by a secret of the operator's: the body, as JSON. It is proven once the body is read. */
  signature: object
  /** A sign-in token with its claims, or an admin key. The keys service proves the key, and decides access. */
  administrator: AdministrationCredential
}

export type Credential = keyof Principals

/** Resolves with the principal, or rejects with the refusal. */
export type Prove<Principal> = (edge: AuthContext, request: IncomingMessage) => Promise<Principal>

export const proofs: { [Name in Exclude<Credential, 'signature'>]: Prove<Principals[Name]> } = {
  none: async () => null,
  key: async (edge, request) => proveKey(edge, await claimKey(edge, request)),
  'key at admission': claimKey,
  account: findAccount,
  'sign-in': signIn,
  administrator: claimAdministrator,
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

/** Keys of OpenAI, Anthropic and others begin with it. */
const FOREIGN_PREFIX = 'sk-'
const FOREIGN_HINT =
  'This looks like the key of another service: keys of this gateway begin with svc_, and its console makes them'

const KEY_OR_TOKEN: Wanted = ['key', 'other']
const TOKEN: Wanted = ['other']
const ADMIN_KEY_OR_TOKEN: Wanted = ['admin_key', 'other']

/** Throws where the request names two credentials, or one that no token can be. */
function credentialOf({ headers }: IncomingMessage, wanted: Wanted = KEY_OR_TOKEN): Bearer {
  const claimed = readCredential(headers, wanted)
  if (claimed.kind === 'other' && claimed.value.startsWith(FOREIGN_PREFIX)) throw invalidToken(undefined, FOREIGN_HINT)
  if (claimed.kind !== 'ambiguous') return claimed
  throw new GatewayError('VALIDATION_ERROR', 'x-api-key: is another credential than authorization; send one of them')
}

/** The key that a request names, not known to be dead. Nobody has proven that it is alive. */
export async function claimKey(edge: AuthContext, request: IncomingMessage): Promise<Caller> {
  const caller = await readCaller(edge, request)
  if (edge.plans.isDeadKey(caller.keyHash)) throw invalidKey()
  return caller
}

/** True: this edge has served the account that a key names. It proves nothing: a forger gains a place in the queue. */
export function namesKnownAccount({ plans }: { plans: AccountCache }, { headers }: IncomingMessage): boolean {
  const claimed = readCredential(headers)
  return claimed.kind === 'key' && plans.planOf(claimed.parsed.accountTag) !== null
}

/** By the key itself, or by a sign-in token of its owner. */
async function readCaller(edge: AuthContext, request: IncomingMessage): Promise<Caller> {
  const bearer = credentialOf(request)
  switch (bearer.kind) {
    case 'none':
      throw noAuth()
    case 'malformed_key':
    case 'admin_key':
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

async function signIn(edge: AuthContext, request: IncomingMessage): Promise<KeyOwner> {
  const bearer = credentialOf(request, TOKEN)
  if (bearer.kind === 'none') throw noAuth()
  if (bearer.kind !== 'other') throw invalidToken()
  return edge.verifySignIn(bearer.value)
}

async function claimAdministrator(edge: AuthContext, request: IncomingMessage): Promise<AdministrationCredential> {
  const bearer = credentialOf(request, ADMIN_KEY_OR_TOKEN)
  switch (bearer.kind) {
    case 'none':
      throw noAuth()
    case 'malformed_key':
      throw invalidKey()
    case 'key':
      throw new GatewayError('FORBIDDEN', INFERENCE_KEY)
    case 'admin_key':
      return { kind: 'admin_key', hash: hashKey(bearer.key) }
    case 'other':
      return { kind: 'sign_in', ...(await edge.verifyPerson(bearer.value)) }
  }
}

const INFERENCE_KEY =
  'A key for inference opens no administration; use an admin key (svc_admin_…) or a sign-in token with a role'

/** Null: somebody who signed in and never minted a key. */
async function findAccount(edge: AuthContext, request: IncomingMessage): Promise<string | null> {
  if (credentialOf(request).kind === 'other') {
    const reply = await edge.keys.findAccount({ owner: await signIn(edge, request) })
    return reply.kind === 'found' ? reply.account : null
  }
  const { account } = await proofs.key(edge, request)
  return account
}

type ActiveKey = Extract<KeyState, { kind: 'active' }>

/** Throws INVALID_KEY unless the key is alive; calls keys once where the admission store does not know it. */
export async function proveKey(edge: AuthContext, caller: Caller): Promise<ProvenCaller> {
  for (let filled = false; ; filled = true) {
    const reply = await orUnavailable(edge.admission.authenticate(caller))
    if (reply.kind === 'active') {
      const { plan, overage, extra, used, project } = reply
      return { ...caller, plan, overage, extra, used, project: projectOf(edge, caller, project) }
    }
    if (reply.kind === 'deny') throw invalidKey()
    if (filled) throw new GatewayError('SERVICE_UNAVAILABLE', 'The key could not be checked; try again shortly')
    await fillKey(edge, caller)
  }
}

function projectOf({ plans }: AuthContext, { keyHash }: Caller, project: ActiveKey['project']): ProjectOfKey | null {
  return project ? { hardLimit: project.hardLimit, policy: plans.rememberPolicy(keyHash, project.policy) } : null
}

/** Has keys write the account into the admission store. Throws INVALID_KEY when keys does not know the key. */
export async function fillKey(edge: AuthContext, caller: Caller): Promise<string> {
  if (edge.plans.isUnknownKey(caller.keyHash)) throw invalidKey()
  const reply = await edge.keys.fill({ account: caller.account, keyHash: caller.keyHash })
  if (reply.kind === 'unknown') {
    edge.plans.cacheUnknownKey(caller.keyHash)
    throw invalidKey()
  }
  edge.plans.remember(caller.account, reply.plan)
  return reply.plan
}

/** An admission store that is away is the gateway's fault and passes: 503. */
export async function orUnavailable<Reply>(reply: Promise<Reply>): Promise<Reply> {
  try {
    return await reply
  } catch (cause) {
    if (!(cause instanceof AdmissionUnavailableError)) throw cause
    throw new GatewayError('SERVICE_UNAVAILABLE', 'Admission is not available; try again shortly', {}, { cause })
  }
}
