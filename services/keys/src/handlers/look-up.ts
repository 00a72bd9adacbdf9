/**
 * Looks a key up in the database, for edges that have lost the admission store. The database's clock says whether a key has expired.
 */

import type { LookUpReply, LookUpRequest } from '@gateway/contracts/keys-api'
import { limitsForAdmission } from '../core/key-limits.ts'
import { unitOf } from '../core/plans.ts'
import { findHolder, type Holder } from '../db/holders.ts'
import { readProjectFacts } from '../db/project-facts.ts'
import { readExtra } from '../db/top-ups.ts'
import type { KeysContext } from '../keys-context.ts'

export async function lookUp(context: KeysContext, { account: tag, keyHash }: LookUpRequest): Promise<LookUpReply> {
  const { database, config, lookUps } = context
  const hash = Buffer.from(keyHash, 'base64url')
  if (!(await lookUps.isKeyOf(tag, hash))) return { kind: 'dead' }
  const holder = await findHolder(database, tag, hash)
  if (!holder) return { kind: 'dead' }
  const { plan, version, overage } = holder
  const unit = unitOf(config.current.plans, plan)
  const extra = await readExtra(database, { account: tag, unit, window: null })
  return { kind: 'active', plan, planVersion: version, overage, extra, ...(await projectPart(context, holder)) }
}

async function projectPart({ database, config }: KeysContext, { tag, plan, keyId, limits }: Holder) {
  if (!limits) return {}
  const unit = unitOf(config.current.plans, plan)
  const project = (await readProjectFacts(database, [{ account: tag, unit }])).get(tag)
  if (!project) throw new Error(`the project ${tag} has no facts`)
  const { modelLimits, ...facts } = project
  return { project: { ...facts, modelLimits: [...modelLimits] }, limits: limitsForAdmission(keyId, limits, unit) }
}
