/**
 * The caller's developer key: the active one, or a new one where there is none. However many ask at once, they wait for
 * each other on the account's row and get the same.
 *
 * Returning the active key voids its ticket. So no rotation or revocation from before ends it any more.
 */

import type { KeyOwner, MintKeyReply, MintKeyRequest } from '@gateway/contracts/developer-keys-api'
import { newAccountTag, openKey } from '../core/new-key.ts'
import { defaultPlan } from '../core/plans.ts'
import { openDeveloperAccount, raiseVersion } from '../db/accounts.ts'
import { findActiveKey, findDeveloperKey, type StoredKey, voidTicket } from '../db/keys.ts'
import type { KeysDatabase } from '../db/tables.ts'
import type { KeysContext } from '../keys-context.ts'
import { fillBeforehand, makeKey } from '../make-key.ts'

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
