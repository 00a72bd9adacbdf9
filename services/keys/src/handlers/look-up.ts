/**
 * Looks a key up in the database, for edges that have lost the admission store.
 */

import type { LookUpReply, LookUpRequest } from '@gateway/contracts/keys-api'
import { unitOf } from '../core/plans.ts'
import { findHolder } from '../db/accounts.ts'
import { readExtra } from '../db/top-ups.ts'
import type { KeysContext } from '../keys-context.ts'

export async function lookUp(
  { database, config, lookUps }: KeysContext,
  { account: tag, keyHash }: LookUpRequest,
): Promise<LookUpReply> {
  const hash = Buffer.from(keyHash, 'base64url')
  if (!(await lookUps.isKeyOf(tag, hash))) return { kind: 'dead' }
  const holder = await findHolder(database, tag, hash)
  if (!holder) return { kind: 'dead' }
  const { plan, version, overage } = holder
  const unit = unitOf(config.current.plans, plan)
  const extra = await readExtra(database, { account: tag, unit, window: null })
  return { kind: 'active', plan, planVersion: version, overage, extra }
}
