/**
 * `POST /v1/quote` (ours): the target and cost of a chat request, without dispatching it. The same body, the
 * same choice of lane and the same prices as the request itself; nothing is reserved. `dialect` names the API of the body.
 */

import type { z } from 'zod'
import type { ConfigSource } from '@gateway/config/config-source'
import { quoteQuery, type quoteResponse } from '@gateway/contracts/quote'
import { chargeFor, toPlanUnit } from '@gateway/pricing/charge'
import { makeOffer } from '../admission/admit.ts'
import { modelRefused } from '../admission/denials.ts'
import { describePrice } from '../core/describe-price.ts'
import { effectiveLimit, passesLimit } from '../core/effective-limit.ts'
import type { LedgerFigures } from '../rpc/service-clients.ts'
import { parseBody } from '../requests/inference-kinds.ts'
import { KINDS } from '../requests/kinds.ts'
import { reservationOf } from '../http/memory-budget.ts'
import type { LargeBodies } from '../requests/large-bodies.ts'
import { LargeJson } from '../requests/parse-json.ts'
import type { Handler } from '../http/handler.ts'
import { understand } from '../requests/understand.ts'

interface QuoteContext {
  config: ConfigSource
  figures: LedgerFigures
  largeBodies: LargeBodies
}

export function quote(edge: QuoteContext): Handler<'key'> {
  return async (request, response, caller) => {
    const config = edge.config.current
    const { dialect } = parseBody(quoteQuery, request.query)
    const body: unknown = request.body
    const { inference, model } =
      body instanceof LargeJson
        ? await edge.largeBodies.understand(config, KINDS[dialect], body, reservationOf(response)!.cpu)
        : understand(config, KINDS[dialect], body)
    const { policy } = caller.project ?? {}
    const { plan, chosen, refusedBy } = makeOffer(config, caller.plan, model, inference, policy)
    if (!chosen) throw modelRefused(refusedBy, plan.slug, config, model)

    const { lane, reason, price, estimate, worstCharge } = chosen
    const { used } = await edge.figures.quota({ account: caller.account, unit: plan.unit })
    const limit = effectiveLimit(plan, caller)
    const usualCharge = chargeFor(price, {
      promptTokens: estimate.usualPromptTokens,
      completionTokens: estimate.usualTokens - estimate.usualPromptTokens,
      cachedTokens: 0,
    })
    const inPlanUnit = (amount: number) => toPlanUnit(amount, plan.unit)
    response.json({
      object: 'quote',
      model: model.id,
      lane: lane.id,
      reason: reason ?? null,
      pool: lane.pool,
      plan: plan.slug,
      unit: plan.unit,
      price: describePrice(price),
      estimated_charge: inPlanUnit(usualCharge),
      worst_case_charge: inPlanUnit(worstCharge),
      remaining: inPlanUnit(Math.max(0, limit - used)),
      fits: passesLimit(caller) || used + worstCharge <= limit,
    } satisfies z.infer<typeof quoteResponse>)
  }
}
