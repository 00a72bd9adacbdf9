/**
 * A signed-in caller's keys: found, minted, listed, rotated and revoked. An operator ends any key.
 *
 * No edge admits a key after the reply to its rotation or revocation. An edge requests a ticket first, and names it when it ends
 * the key. A mint that returns the key voids the ticket, so no rotation or revocation from before ends that key any more. No
 * clock decides, however long a message was on its way.
 */

import type { RevokeKeyByIdReply, RevokeKeyByIdRequest } from '@gateway/contracts/accounts-api'
import type {
  FindAccountReply,
  FindAccountRequest,
  FindSessionReply,
  FindSessionRequest,
  KeyOwner,
  ListKeysReply,
  ListKeysRequest,
  MintKeyReply,
  MintKeyRequest,
  RevokeKeyReply,
  RevokeKeyRequest,
  RotateKeyReply,
  RotateKeyRequest,
} from '@gateway/contracts/developer-keys-api'
import { newAccountTag, openKey } from '../core/new-key.ts'
import { defaultPlan } from '../core/plans.ts'
import { findOwnAccount, lockDeveloperAccount, openDeveloperAccount, raiseVersion } from '../db/accounts.ts'
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
import { noteChange, type Change } from '../db/outbox.ts'
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
export async function mintKey(context: KeysContext, { owner }: MintKeyRequest): Promise<MintKeyReply> {
  const held = await findDeveloperKey(context.database, owner)
  if (held?.ticket === null) return minted(context, held)
  const key = await context.database.transaction().execute((transaction) => findOrMake(context, transaction, owner))
  if (key.keyId !== held?.keyId) await fillBeforehand(context, key.account)
  return minted(context, key)
}

function minted(context: KeysContext, key: StoredKey): MintKeyReply {
  return { kind: 'minted', key: openKey(context.masterKeys, key), plan: key.plan }
}

async function findOrMake(context: KeysContext, transaction: KeysDatabase, owner: KeyOwner): Promise<StoredKey> {
  const plan = defaultPlan(context.config.current.plans).slug
  const account = await openDeveloperAccount(transaction, owner, { tag: newAccountTag(), plan })
  if (account.isNew) return makeKey(context, transaction, account)
  const held = await findActiveKey(transaction, account.tag)
  if (held?.ticket) await voidTicket(transaction, held.keyId)
  if (held) return held
  const version = await raiseVersion(transaction, account.tag)
  return makeKey(context, transaction, { ...account, version })
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
  { owner, keyHash, ticket }: RotateKeyRequest,
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
  return { key, change }
}

export async function revokeKey(
  context: KeysContext,
  { owner, keyHash, ticket }: RevokeKeyRequest,
): Promise<RevokeKeyReply> {
  const hash = Buffer.from(keyHash, 'base64url')
  const end = async (transaction: KeysDatabase) => {
    const account = await lockDeveloperAccount(transaction, owner)
    const key = account && (await findOwnKey(transaction, account.tag, hash))
    if (key && isLate(key, ticket)) return 'late'
    return key && revoke(transaction, key)
  }
  const change = await context.inTurn(owner, () => context.urgent.transaction().execute(end))
  if (change === 'late') return { kind: 'invalid', isLate: true }
  if (!change?.deadKey) return { kind: 'invalid' }
  await context.changes.announce(change)
  return { kind: 'revoked', keyId: change.deadKey.keyId }
}

export async function revokeKeyById(
  context: KeysContext,
  { keyId }: RevokeKeyByIdRequest,
): Promise<RevokeKeyByIdReply> {
  const change = await context.urgent.transaction().execute(async (transaction) => {
    const key = await lockKeyById(transaction, keyId)
    return key && revoke(transaction, key)
  })
  if (!change) return { kind: 'unknown' }
  await context.changes.announce(change)
  return { kind: 'revoked', account: change.account }
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
