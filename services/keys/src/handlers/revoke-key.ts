/**
 * Ends a key: the caller's own, or any for an operator. No edge admits it once this has answered.
 *
 * A key that is dead already is announced again: the answer to the first call may have been lost before the word was out.
 */

import type { RevokeKeyByIdReply, RevokeKeyByIdRequest } from '@gateway/contracts/accounts-api'
import type { RevokeKeyReply, RevokeKeyRequest } from '@gateway/contracts/developer-keys-api'
import { isLate } from '../core/is-late.ts'
import { lockDeveloperAccount, raiseVersion } from '../db/accounts.ts'
import { deactivateKey, findOwnKey, lockKeyById, type OwnKey } from '../db/keys.ts'
import { noteChange, type Change } from '../db/outbox.ts'
import type { KeysDatabase } from '../db/tables.ts'
import type { KeysContext } from '../keys-context.ts'

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

async function revoke(transaction: KeysDatabase, key: OwnKey): Promise<Change> {
  const isDead = key.status === 'deactivated'
  const deadKey = isDead ? key : await deactivateKey(transaction, key, await raiseVersion(transaction, key.account))
  return noteChange(transaction, { account: key.account, reason: 'revoked', deadKey })
}
