/**
 * The caller's keys, dead ones too, newest first. Nothing of their secrets: an id is what a masked key shows.
 */

import { listKeysRequest, type ListKeysReply } from '@gateway/contracts/developer-keys-api'
import { findOwnAccount } from '../db/accounts.ts'
import { listKeys as readKeys } from '../db/keys.ts'
import type { KeysContext } from '../keys-context.ts'

export async function listKeys({ database }: KeysContext, question: unknown): Promise<ListKeysReply> {
  const { owner } = listKeysRequest.parse(question)
  const account = await findOwnAccount(database, owner)
  if (!account) return { keys: [] }
  const keys = await readKeys(database, account.tag)
  return { keys: keys.map((key) => ({ ...key, plan: account.plan })) }
}
