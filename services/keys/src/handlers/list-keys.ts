/**
 * The caller's keys, dead ones too, newest first. It contains no secret: a masked key shows only its id.
 */

import type { ListKeysReply, ListKeysRequest } from '@gateway/contracts/developer-keys-api'
import { findOwnAccount } from '../db/accounts.ts'
import { listKeys as readKeys } from '../db/keys.ts'
import type { KeysContext } from '../keys-context.ts'

export async function listKeys({ database }: KeysContext, { owner }: ListKeysRequest): Promise<ListKeysReply> {
  const account = await findOwnAccount(database, owner)
  if (!account) return { keys: [] }
  const keys = await readKeys(database, account.tag)
  return { keys: keys.map((key) => ({ ...key, plan: account.plan })) }
}
