/**
 * The plan that an account holds, in the running configuration.
 */

import type { GatewayConfig, PlanConfig } from '@gateway/contracts/config'
import { GatewayError } from '@gateway/contracts/errors'

/** An account can hold a plan that this gateway's configuration no longer has: the operator's to mend. */
export function findPlan(config: GatewayConfig, slug: string): PlanConfig {
  const plan = config.plans.find((candidate) => candidate.slug === slug)
  if (!plan) throw new GatewayError('SERVICE_UNAVAILABLE', `The plan ${slug} is not configured on this gateway`)
  return plan
}
