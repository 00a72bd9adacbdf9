/**
 * `GET /billing/quota`: the ledger's word on the calling key's account in the current window.
 */

import { maskKey } from '@gateway/contracts/api-key'
import type { QuotaRecord } from '@gateway/contracts/metering-api'
import { fromPlanUnit, toPlanUnit } from '@gateway/pricing/charge'
import { findPlan } from '@gateway/contracts/models'
import type { Edge } from '../edge.ts'
import type { Handler } from '../listen/route.ts'

export function showQuota(edge: Edge): Handler<'key'> {
  return async (_request, response, caller) => {
    const plan = findPlan(edge.config.current, caller.plan)
    const { used, resetAtMs } = await edge.metering.quota({ account: caller.account, unit: plan.unit })
    const limit = fromPlanUnit(plan.limit, plan.unit) + caller.extra
    response.json({
      object: 'quota',
      planSlug: plan.slug,
      used: toPlanUnit(used, plan.unit),
      limit: toPlanUnit(limit, plan.unit),
      remaining: toPlanUnit(Math.max(0, limit - used), plan.unit),
      resetAt: new Date(resetAtMs).toISOString(),
      unit: plan.unit,
      keyPrefix: maskKey(caller.keyId),
      source: 'ledger',
    } satisfies QuotaRecord)
  }
}
