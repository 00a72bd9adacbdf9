/**
 * The active key through which a signed-in caller uses the inference endpoints. Minting is their own decision: who has
 * none gets none.
 *
 * An edge that is about to end the key gets a ticket for it: see `core/is-late.ts`.
 */

import type { FindSessionReply, FindSessionRequest } from '@gateway/contracts/developer-keys-api'
import { findDeveloperKey, openTicket } from '../db/keys.ts'
import type { KeysContext } from '../keys-context.ts'

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
