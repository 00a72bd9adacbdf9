/**
 * Gives a kept answer again: the bytes and what is said about them as they were, where the account stands as of now.
 *
 * The answer was kept before its usage was stored. If that is not known to have happened, it is reported again first: the
 * ledger takes each request once, so whoever is given the answer, it is paid for exactly once.
 */

import { monthOf } from '@gateway/admission/month'
import { GatewayError } from '@gateway/contracts/errors'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import type { ClaimAnswer, HeldKey } from '@gateway/idempotency/port'
import { fromPlanUnit } from '@gateway/pricing/units'
import type { ProvenCaller } from '../credentials/authenticate.ts'
import { findPlan } from '@gateway/contracts/models'
import { quotaHeaders } from '../core/answer-headers.ts'
import type { Edge } from '../edge.ts'
import { openAnswer, type KeptAnswer } from './kept-answer.ts'
import type { HttpClient } from '../relay/http-client.ts'

/** False: it cannot be read any more and is forgotten. */
export async function replayAnswer(
  edge: Edge,
  held: HeldKey,
  kept: Extract<ClaimAnswer, { kind: 'kept' }>,
  caller: ProvenCaller,
  reader: HttpClient,
): Promise<boolean> {
  const answer = await openKept(edge, held, kept.answer)
  if (!answer) return false
  if (!kept.settled) await reportUsage(edge, held, answer.head.usage)
  const headers = { ...answer.head.headers, ...(await quotaNow(edge, caller)) }
  if (reader.isOver()) return true
  reader.replays(held.requestId)
  reader.begin(answer.head.contentType, () => headers)
  reader.write(answer.body)
  reader.finish(() => headers)
  edge.metrics.idempotent('replayed')
  return true
}

/** Null: it is sealed under a master secret that keys does not hold any more, or was altered. */
async function openKept(edge: Edge, held: HeldKey, sealed: Uint8Array): Promise<KeptAnswer | null> {
  try {
    return await openAnswer(await edge.idempotency.keys.current(), held, sealed)
  } catch (error) {
    if (error instanceof GatewayError) throw error
    edge.logger.error(
      { err: error, requestId: held.requestId },
      'a kept answer cannot be opened; the request runs anew',
    )
    await edge.idempotency.store.release(held).catch(() => {})
    return null
  }
}

async function reportUsage(edge: Edge, held: HeldKey, usage: UsageEvent): Promise<void> {
  try {
    await edge.usage.report(usage)
  } catch (cause) {
    throw new GatewayError('SERVICE_UNAVAILABLE', 'The answer could not be metered in time', {}, { cause })
  }
  // Otherwise the next one reports it once more, which changes nothing.
  edge.idempotency.store.settle(held).catch(() => {})
}

async function quotaNow(edge: Edge, caller: ProvenCaller): Promise<Record<string, string>> {
  const plan = findPlan(edge.config.current, caller.plan)
  const { used, resetAtMs } =
    caller.used === null
      ? await edge.metering.quota({ account: caller.account, unit: plan.unit })
      : { used: caller.used, resetAtMs: monthOf(Date.now()).resetsAtMs }
  const limit = fromPlanUnit(plan.limit, plan.unit) + caller.extra
  return quotaHeaders({ plan: plan.slug, used, limit, windowResetAtMs: resetAtMs }, plan.unit)
}
