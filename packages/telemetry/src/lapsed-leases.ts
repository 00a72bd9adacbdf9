/**
 * Counts running requests whose reservation was given up because nobody renewed it; for what opens an admission store.
 */

import type { Metrics } from './metrics.ts'

export function countLapsedLeases(metrics: Metrics): (count: number) => void {
  const lapsed = metrics
    .counter('gateway_admission_lapsed_leases_total', 'Reservations given up because nobody renewed them')
    .labels()
  return (count) => lapsed.add(count)
}
