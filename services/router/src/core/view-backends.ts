/**
 * What an operator is told of backends. Pure; the clocks are arguments: health goes by the process' own, people by the wall's.
 */

import type { HealthView } from '@gateway/contracts/routers-api'
import type { Health } from './backend-health.ts'

export interface Clocks {
  /** What ejections and coolings are measured by. */
  nowMs: number
  /** The same moment in milliseconds since 1970. */
  wallMs: number
}

/** An ejection outweighs a cooling; a target on trial is one whose ejection is over. */
export function viewHealth(health: Health, { nowMs, wallMs }: Clocks): HealthView {
  const until = (at: number): number => Math.round(wallMs + at - nowMs)
  if (nowMs < health.ejectedUntilMs) return { state: 'ejected', untilMs: until(health.ejectedUntilMs) }
  if (nowMs < health.coolingUntilMs) return { state: 'cooling', untilMs: until(health.coolingUntilMs) }
  return { state: health.onTrial ? 'on_trial' : 'healthy', untilMs: null }
}
