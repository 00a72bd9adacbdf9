/**
 * Replaces the caller's current key. Of several at once exactly one wins: the others find their key dead. Plan, standing
 * and history stay, since they are the account's. No edge admits the old key once this has answered.
 *
 * Should the answer get lost after the commit, minting returns the new key.
 */

import type { RotateKeyReply, RotateKeyRequest } from '@gateway/contracts/developer-keys-api'
import { isLate } from '../core/is-late.ts'
import { openKey } from '../core/new-key.ts'
import { lockDeveloperAccount, raiseVersion } from '../db/accounts.ts'
import { deactivateKey, findOwnKey, type StoredKey } from '../db/keys.ts'
import { noteChange, type Change } from '../db/outbox.ts'
import type { KeysDatabase } from '../db/tables.ts'
import type { KeysContext } from '../keys-context.ts'
import { makeKey } from '../make-key.ts'

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
