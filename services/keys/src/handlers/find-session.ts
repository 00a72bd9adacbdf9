/**
 * The active key through which a signed-in caller uses the inference endpoints. Minting is their own decision: who has
 * none gets none.
 */

import type { FindSessionReply, FindSessionRequest } from '@gateway/contracts/developer-keys-api'
import { findDeveloperKey } from '../db/keys.ts'
import type { KeysContext } from '../keys-context.ts'

export async function findSession({ database }: KeysContext, { owner }: FindSessionRequest): Promise<FindSessionReply> {
  const key = await findDeveloperKey(database, owner)
  if (!key) return { kind: 'none' }
  const { account, keyId, plan } = key
  return { kind: 'found', account, keyId, keyHash: Buffer.from(key.hash).toString('base64url'), plan }
}
