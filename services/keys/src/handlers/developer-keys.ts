/**
 * A signed-in caller's keys: found, minted, listed, rotated and revoked. An operator ends any key.
 *
 * No edge admits a key after the reply to its rotation or revocation. An edge requests a ticket first, and names it when it ends
 * the key. A mint that returns the key voids the ticket, so no rotation or revocation from before ends that key any more. No
 * clock decides, however long a message was on its way.
 */

import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import type { RevokeKeyByIdReply, RevokeKeyByIdRequest } from '@gateway/contracts/accounts-api'
import type {
  FindAccountReply,
  FindAccountRequest,
  FindSessionReply,
  FindSessionRequest,
  ListKeysReply,
  ListKeysRequest,
  MintKeyReply,
  MintKeyRequest,
  RevokeKeyReply,
  RevokeKeyRequest,
  RotateKeyReply,
  RotateKeyRequest,
} from '@gateway/contracts/developer-keys-api'
import { auditByOperator, auditByOwner } from '../audit-change.ts'
import { newAccountTag, openKey } from '../core/new-key.ts'
import type { AuditEntry } from '../core/audit-entry.ts'
import { defaultPlan } from '../core/plans.ts'
import {
  findOwnAccount,
  lockDeveloperAccount,
  openDeveloperAccount,
  raiseVersion,
  type Account,
} from '../db/accounts.ts'
import {
  deactivateKey,
  findActiveKey,
  findDeveloperKey,
  findOwnKey,
  listKeys as readKeys,
  lockKeyById,
  openTicket,
  voidTicket,
  type OwnKey,
  type StoredKey,
} from '../db/keys.ts'
import { noteChange, noteProjectChange, type Change } from '../db/outbox.ts'
import { endProjectKeys, lockProjectKeyById } from '../db/project-keys.ts'
import { PERSONAL_KEY_NAME } from '../db/personal-keys.ts'
import type { KeysDatabase } from '../db/tables.ts'
import type { KeysContext } from '../keys-context.ts'
import { fillBeforehand, makeKey } from '../make-key.ts'

/** The account exists from the first key on. */
export async function findAccount({ database }: KeysContext, { owner }: FindAccountRequest): Promise<FindAccountReply> {
  const account = await findOwnAccount(database, owner)
  return account ? { kind: 'found', account: account.tag } : { kind: 'none' }
}

/**
 * The active key through which the caller uses the inference endpoints. Minting is their own decision: who has none gets
 * none. An edge that is about to end the key gets a ticket for it.
 */
export async function findSession(
  { database, urgent, inTurn }: KeysContext,
  { owner, toEnd }: FindSessionRequest,
): Promise<FindSessionReply> {
  const key = await findDeveloperKey(database, owner)
  if (!key) return { kind: 'none' }
  const { account, keyId, plan } = key
  const keyHash = Buffer.from(key.hash).toString('base64url')
  const ticket = toEnd === keyHash ? await inTurn(owner, () => openTicket(urgent, keyId)) : undefined
  return { kind: 'found', account, keyId, keyHash, plan, ticket }
}

/** Dead keys too, newest first. It contains no secret: a masked key shows only its id. */
export async function listKeys({ database }: KeysContext, { owner, after }: ListKeysRequest): Promise<ListKeysReply> {
  const account = await findOwnAccount(database, owner)
  const page = account && (await readKeys(database, account.tag, after))
  if (!page) return { keys: [], next: null, ...(after !== undefined && { isUnknown: true }) }
  return { keys: page.keys.map((key) => ({ ...key, plan: account.plan })), next: page.next }
}

/**
 * Returns the active key, or a new one where there is none. Concurrent requests wait for each other on the account's row and get
 * the same key.
 */
export async function mintKey(context: KeysContext, request: MintKeyRequest): Promise<MintKeyReply> {
  const { owner, origin } = request
  const held = await findDeveloperKey(context.database, owner)
  if (held?.ticket === null) return minted(context, held)
  const key = await context.database
    .transaction()
    .execute((transaction) => findOrMake(context, transaction, { owner, origin }))
  if (key === 'suspended') return suspendedFor(request)
  if (key.keyId !== held?.keyId) await fillBeforehand(context, key.account)
  return minted(context, key)
}

/** An edge of the last release reads no such reply. */
export function suspendedFor({ readsSuspended }: Pick<MintKeyRequest, 'readsSuspended'>): { kind: 'suspended' } {
  if (readsSuspended) return { kind: 'suspended' }
  throw new Error('the account is suspended, and the edge of a former release has no word for it')
}

function minted(context: KeysContext, key: StoredKey): MintKeyReply {
  return { kind: 'minted', key: openKey(context.masterKeys, key), plan: key.plan }
}

async function findOrMake(
  context: KeysContext,
  transaction: KeysDatabase,
  { owner, origin }: MintKeyRequest,
): Promise<StoredKey | 'suspended'> {
  const plan = defaultPlan(context.config.current.plans).slug
  const account = await openDeveloperAccount(transaction, owner, { tag: newAccountTag(), plan })
  const make = async (of: Account) => {
    const key = await makeKey(context, transaction, of)
    await auditByOwner(transaction, owner, [created(key)], origin)
    return key
  }
  if (account.isNew) return make(account)
  if (account.suspendedAt) return 'suspended'
  const held = await findActiveKey(transaction, account.tag)
  if (held?.ticket) await voidTicket(transaction, held.keyId)
  if (held) return held
  const version = await raiseVersion(transaction, account.tag)
  return make({ ...account, version })
}

function created({ account, keyId }: Pick<StoredKey, 'account' | 'keyId'>): AuditEntry {
  return {
    type: 'api_key.created',
    projectId: `${PROJECT_PREFIX}${account}`,
    details: { id: `key_${keyId}`, data: {} },
  }
}

export interface EndedKey {
  account: string
  keyId: string
  name?: string
}

/** One row for an owner, an administrator and an operator. */
export function ended({ account, keyId, name = PERSONAL_KEY_NAME }: EndedKey): AuditEntry {
  const details = { id: `key_${keyId}` }
  return { type: 'api_key.deleted', projectId: `${PROJECT_PREFIX}${account}`, details, before: { name } }
}

/**
 * Of several rotations at once exactly one wins: the others find their key dead. Plan, quota status and history stay, since they
 * are the account's. If the reply gets lost after the commit, minting returns the new key.
 */
export async function rotateKey(context: KeysContext, request: RotateKeyRequest): Promise<RotateKeyReply> {
  const rotated = await context.inTurn(request.owner, () =>
    context.urgent.transaction().execute((transaction) => replace(context, transaction, request)),
  )
  if (rotated === 'late') return { kind: 'invalid', isLate: true }
  if (!rotated) return { kind: 'invalid' }
  await context.changes.announce(rotated.change)
  return { kind: 'rotated', key: openKey(context.masterKeys, rotated.key), plan: rotated.key.plan }
}

async function replace(
  context: KeysContext,
  transaction: KeysDatabase,
  { owner, keyHash, ticket, origin }: RotateKeyRequest,
): Promise<{ key: StoredKey; change: Change } | 'late' | null> {
  const account = await lockDeveloperAccount(transaction, owner)
  if (!account) return null
  const current = await findOwnKey(transaction, account.tag, Buffer.from(keyHash, 'base64url'))
  if (current?.status !== 'active') return null
  if (isLate(current, ticket)) return 'late'
  const version = await raiseVersion(transaction, account.tag)
  const deadKey = await deactivateKey(transaction, current, version)
  const key = await makeKey(context, transaction, { ...account, version })
  const change = await noteChange(transaction, { account: account.tag, reason: 'rotated', deadKey })
  await auditByOwner(transaction, owner, [ended(current), created(key)], origin)
  return { key, change }
}

export async function revokeKey(
  context: KeysContext,
  { owner, keyHash, ticket, origin }: RevokeKeyRequest,
): Promise<RevokeKeyReply> {
  const hash = Buffer.from(keyHash, 'base64url')
  const end = async (transaction: KeysDatabase) => {
    const account = await lockDeveloperAccount(transaction, owner)
    const key = account && (await findOwnKey(transaction, account.tag, hash))
    if (key && isLate(key, ticket)) return 'late'
    if (!key) return undefined
    const change = await revoke(transaction, key)
    if (key.status !== 'deactivated') await auditByOwner(transaction, owner, [ended(key)], origin)
    return change
  }
  const change = await context.inTurn(owner, () => context.urgent.transaction().execute(end))
  if (change === 'late') return { kind: 'invalid', isLate: true }
  const deadKey = change?.deadKeys[0]
  if (!deadKey) return { kind: 'invalid' }
  await context.changes.announce(change)
  return { kind: 'revoked', keyId: deadKey.keyId }
}

export async function revokeKeyById(
  context: KeysContext,
  { keyId }: RevokeKeyByIdRequest,
): Promise<RevokeKeyByIdReply> {
  const change = await context.urgent
    .transaction()
    .execute((transaction) => revokeById(transaction, keyId, (key) => auditByOperator(transaction, [ended(key)])))
  if (!change) return { kind: 'unknown' }
  await context.changes.announce(change)
  return { kind: 'revoked', account: change.account }
}

/** Ends a person's, a guest's or a project's key. Undefined where there is none. */
export async function revokeById(
  transaction: KeysDatabase,
  keyId: string,
  /** Not for a key that was dead before. */
  onEnd: (key: EndedKey) => Promise<void> = async () => {},
): Promise<Change | undefined> {
  const key = await lockKeyById(transaction, keyId)
  if (!key) return revokeProjectKey(transaction, keyId, onEnd)
  const change = await revoke(transaction, key)
  if (key.status !== 'deactivated') await onEnd(key)
  return change
}

async function revokeProjectKey(
  transaction: KeysDatabase,
  keyId: string,
  onEnd: (key: EndedKey) => Promise<void>,
): Promise<Change | undefined> {
  const key = await lockProjectKeyById(transaction, keyId)
  if (!key) return undefined
  const { account } = key
  const isDead = key.deactivatedAt !== null
  const version = isDead ? key.version : await raiseVersion(transaction, account)
  if (!isDead) await endProjectKeys(transaction, { account, keyId }, version)
  const change = await noteProjectChange(transaction, { account, reason: 'revoked', version })
  if (!isDead) await onEnd({ account, keyId, name: key.name })
  return change
}

/** Keys announces a dead key again: the first call may have failed before its announcement. */
async function revoke(transaction: KeysDatabase, key: OwnKey): Promise<Change> {
  const isDead = key.status === 'deactivated'
  const deadKey = isDead ? key : await deactivateKey(transaction, key, await raiseVersion(transaction, key.account))
  return noteChange(transaction, { account: key.account, reason: 'revoked', deadKey })
}

/** The caller may have been refused long ago, and a mint has returned the key since. A former edge names no ticket. */
function isLate(key: Pick<OwnKey, 'status' | 'ticket'>, ticket: string | undefined): boolean {
  return key.status === 'active' && ticket !== undefined && key.ticket !== ticket
}
