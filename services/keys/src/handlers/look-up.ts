/**
 * What this service knows of a key, straight from its database: for edges that have lost the admission store.
 */

import { lookUpRequest, type LookUpReply } from '@gateway/contracts/keys-api'
import { unitOf } from '../core/plans.ts'
import { holdAccount } from '../db/accounts.ts'
import { readKeyStates } from '../db/keys.ts'
import { readExtra } from '../db/top-ups.ts'
import type { KeysContext } from '../keys-context.ts'

export async function lookUp({ database, config }: KeysContext, question: unknown): Promise<LookUpReply> {
  const { account: tag, keyHash } = lookUpRequest.parse(question)
  const hash = Buffer.from(keyHash, 'base64url')
  return database.transaction(async (transaction) => {
    const account = await holdAccount(transaction, tag)
    if (!account) return { kind: 'dead' }
    const states = await readKeyStates(transaction, tag, hash)
    if (!states.some((state) => state.active && state.hash.equals(hash))) return { kind: 'dead' }
    const { extra } = await readExtra(transaction, tag, unitOf(config.current.plans, account.plan))
    return { kind: 'active', plan: account.plan, overage: account.overage, extra }
  })
}
