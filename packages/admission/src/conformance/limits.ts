import type { PlanLimits } from '../port.ts'

/** For tests: limits that let everything pass, but for those that the test names. */
export function limitsWith(limits: Partial<PlanLimits> = {}): PlanLimits {
  return { requestsPerMinute: 1_000_000, tokensPerMinute: 1e9, requestsPerDay: null, allowance: 1e12, ...limits }
}
