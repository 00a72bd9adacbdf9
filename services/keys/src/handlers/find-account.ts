/**
 * The account of a signed-in caller. It exists from the first key on.
 */

import type { FindAccountReply, FindAccountRequest } from '@gateway/contracts/developer-keys-api'
import { findOwnAccount } from '../db/accounts.ts'
import type { KeysContext } from '../keys-context.ts'

export async function findAccount({ database }: KeysContext, { owner }: FindAccountRequest): Promise<FindAccountReply> {
  const account = await findOwnAccount(database, owner)
  return account ? { kind: 'found', account: account.tag } : { kind: 'none' }
}
