/**
 * Finds the lasting differences between the admission store and a service's tables. It reads twice, a pause apart, and keeps the
 * differences that both reads show.
 */

import { setTimeout as sleep } from 'node:timers/promises'

export interface Finding {
  account: string
  /** Names a difference: the same name in the second read means that nothing has moved. */
  id: string
}

export async function readStable<Found extends Finding>(
  accounts: readonly string[],
  look: (accounts: readonly string[]) => Promise<Found[]>,
  pauseMs: number,
): Promise<Found[]> {
  const first = await look(accounts)
  if (first.length === 0) return []
  await sleep(pauseMs)
  const seen = new Set(first.map(({ id }) => id))
  const again = await look([...new Set(first.map(({ account }) => account))])
  return again.filter(({ id }) => seen.has(id))
}
