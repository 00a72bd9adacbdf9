/**
 * What an operator is told of backends. Pure; the clocks are arguments: health goes by the process' own, people by the wall's.
 */

import type { HealthView } from '@gateway/contracts/routers-api'
import type { Health } from './backend-health.ts'

export interface Clocks {
  /** What ejections and coolings are measured by. */
  now: number
  /** The same moment in milliseconds since 1970. */
  wallMs: number
}

/** An ejection outweighs a cooling; a target on trial is one whose ejection is over. */
export function viewHealth(health: Health, { now, wallMs }: Clocks): HealthView {
  const until = (at: number): number => Math.round(wallMs + at - now)
  if (now < health.ejectedUntil) return { state: 'ejected', untilMs: until(health.ejectedUntil) }
  if (now < health.coolingUntil) return { state: 'cooling', untilMs: until(health.coolingUntil) }
  return { state: health.onTrial ? 'on_trial' : 'healthy', untilMs: null }
}
