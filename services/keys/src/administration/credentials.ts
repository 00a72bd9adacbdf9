/**
 * Proves the credential of an administration call. An admin key is read from its table each time, so a revoked one opens nothing
 * from then on. An edge has verified a sign-in's token.
 */

import type {
  AdministerRequest,
  AdministrationCredential,
  CallOrigin,
} from '@gateway/contracts/administration/envelope'
import { GatewayError } from '@gateway/contracts/errors'
import { findLiveAdminKey, noteAdminKeyUse } from '../db/admin-keys.ts'
import type { KeysDatabase } from '../db/tables.ts'
import { findRights, findUnchanged, noteSignIn, type SignIn, withStoredGroups } from '../db/users.ts'
import type { KeysContext } from '../keys-context.ts'
import type { AdministrationCaller } from './call.ts'
import { endLostKeys } from './end-lost-keys.ts'

type CredentialContext = Pick<KeysContext, 'database' | 'logger' | 'refusedSignIns' | 'changes'>

export const OPERATOR: AdministrationCaller = {
  kind: 'operator',
  id: 'operator',
  name: 'operator',
  email: null,
  role: 'owner',
  person: null,
}

const PAYMENT_SYSTEM: AdministrationCaller = {
  kind: 'system',
  id: 'payment_system',
  name: 'payment system',
  email: null,
  role: null,
  person: null,
}

export async function proveCredential(
  context: CredentialContext,
  { credential, origin }: Pick<AdministerRequest, 'credential' | 'origin'>,
): Promise<AdministrationCaller> {
  switch (credential.kind) {
    case 'operator':
      return OPERATOR
    case 'payment_system':
      return PAYMENT_SYSTEM
    case 'admin_key':
      return adminKeyCaller(context, credential.hash, origin)
    case 'refused':
      throw refused(context, credential, origin)
    case 'sign_in': {
      const { issuer, subject, email = null, name = null, role, groups } = credential
      const id = await personOf(context, await withKnownRights(context.database, credential), origin)
      const person = { issuer, subject, groups }
      return { kind: 'user', id, name: name ?? email ?? subject, email, role, person }
    }
  }
}

/** Throws unless the admin key is live. Made-up keys are looked up together, before any of them gets a turn. */
export async function expectLiveAdminKey(
  context: Pick<KeysContext, 'lookUps' | 'refusedSignIns'>,
  { credential, origin }: Pick<AdministerRequest, 'credential' | 'origin'>,
): Promise<void> {
  if (credential.kind !== 'admin_key') return
  const isLive = await context.lookUps.isLiveAdminKey(Buffer.from(credential.hash, 'base64url'))
  if (!isLive) throw refused(context, { code: 'INVALID_KEY', count: 1 }, origin)
}

type SignedIn = Extract<AdministrationCredential, { kind: 'sign_in' }>

/** A token without a claim says nothing of it. The person's row keeps that of the last token that had it, and no key ends. */
async function withKnownRights(database: KeysDatabase, credential: SignedIn): Promise<SignIn> {
  const { issuer, subject, email = null, name = null, role, groups, hasRole, hasGroups } = credential
  const known = hasRole && hasGroups ? undefined : await findRights(database, { issuer, subject })
  return {
    ...{ issuer, subject, email, name },
    role: hasRole ? role : (known?.role ?? null),
    groups: hasGroups ? groups : (known?.groups ?? []),
  }
}

/** A token that says something new may have ended memberships. */
async function personOf(context: CredentialContext, given: SignIn, origin: CallOrigin): Promise<string> {
  const signIn = withStoredGroups(given)
  const known = await findUnchanged(context.database, signIn)
  if (known) return known.id
  await endLostKeys(context, signIn, origin)
  return noteSignIn(context.database, signIn)
}

const SENTENCES = {
  INVALID_KEY: 'The admin key is unknown, revoked or expired',
  INVALID_TOKEN: 'The token is not valid',
} as const

/** Notes it in the audit log, too. */
function refused(
  { refusedSignIns }: Pick<CredentialContext, 'refusedSignIns'>,
  { code, count }: { code: keyof typeof SENTENCES; count: number },
  origin: CallOrigin,
): GatewayError {
  refusedSignIns.note({ code, message: SENTENCES[code], count }, origin)
  return new GatewayError(code, SENTENCES[code])
}

async function adminKeyCaller(
  context: CredentialContext,
  hash: string,
  origin: CallOrigin,
): Promise<AdministrationCaller> {
  const { database, logger } = context
  const key = await findLiveAdminKey(database, Buffer.from(hash, 'base64url'))
  if (!key) throw refused(context, { code: 'INVALID_KEY', count: 1 }, origin)
  noteAdminKeyUse(database, key.keyId).catch((error: unknown) =>
    logger.warn({ err: error }, 'the use of an admin key could not be noted'),
  )
  const { keyId, name, createdBy } = key
  const creator = createdBy.startsWith('user-') && { createdBy }
  return { kind: 'admin_key', id: `key_${keyId}`, name, email: null, role: 'owner', person: null, ...creator }
}
