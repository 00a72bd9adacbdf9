/**
 * Learns which features of the Messages API a target refuses, from the refusal of a request that has them. The same target
 * then gets the request without them. For an hour, requests like it come without them at once.
 */

import type { BackendFault } from '../core/backend-fault.ts'
import { remember } from '../core/feature-memory.ts'
import { readRefusedFeatures } from '../core/refused-features.ts'
import { clientDialect, isNative } from '../backend-registry.ts'
import type { AttemptPlan, FailoverState } from './failover-state.ts'

const LEARNED_MS = 3_600_000
/** Some servers name one feature at a time. */
const MOST_TIMES = 8

/** `fault`: the target's words as they came. The next attempt carries none of the features that they name. */
export function learnFeatures(
  failoverState: FailoverState,
  { slot: { target }, refusedFeatures }: AttemptPlan,
  { status, body, isUnsent }: BackendFault,
): void {
  const { run, featureRefusals } = failoverState
  if (clientDialect(run.header) !== 'messages' || !isNative(target, run.header)) return
  if (isUnsent || body === undefined || (status !== 400 && status !== 422) || featureRefusals >= MOST_TIMES) return
  const { anthropicBeta: beta, anthropicHeaders: headers } = run.header
  const refusals = readRefusedFeatures(body, { beta, body: run.body, headers, refused: refusedFeatures })
  if (refusals.length === 0) return
  remember(target.state.refusedFeatures, refusals, performance.now() + LEARNED_MS)
  failoverState.featureRefusals++
}
