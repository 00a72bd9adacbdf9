/**
 * Counts reservations of running requests that nobody renewed. Every process with an admission store uses it.
 */

import type { Metrics } from './metrics.ts'

export function countLapsedLeases(metrics: Metrics): (count: number) => void {
  const lapsed = metrics
    .counter(
      'gateway_admission_lapsed_leases_total',
      'reservations that nobody renewed: an edge died, or a router without a report',
    )
    .labels()
  return (count) => lapsed.add(count)
}
