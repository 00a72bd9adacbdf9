/**
 * When Redis forgot: by a fault, or because Sentinels or a cluster promoted a replica for a reason of their own.
 */

import { losesRedisData, shiftsRedisTime } from '../plan/describe-fault.ts'
import type { Facts } from './facts.ts'

export interface Loss {
  fromMs: number
  toMs: number
}

/** The old primary was away before, and edges find the new one after it. */
const AROUND_PROMOTION_MS = 10_000

export function lossesOf({ injected, promotionsAtMs }: Facts): Loss[] {
  const byFaults = injected
    .filter(({ fault }) => losesRedisData(fault))
    .map(({ injectedAtMs, healedAtMs }) => ({ fromMs: injectedAtMs, toMs: healedAtMs ?? Infinity }))
  // Each of these faults explains one promotion.
  const explained = new Set(
    byFaults.map(({ fromMs, toMs }) => promotionsAtMs.find((atMs) => atMs >= fromMs && atMs <= toMs)),
  )
  const others = promotionsAtMs
    .filter((atMs) => !explained.has(atMs))
    .map((atMs) => ({ fromMs: atMs - AROUND_PROMOTION_MS, toMs: atMs + AROUND_PROMOTION_MS }))
  return [...byFaults, ...others]
}

/** A clock that is set ahead forgets rates and leases, too. */
export function lossesOfRates(facts: Facts): Loss[] {
  const shifts = facts.injected
    .filter(({ fault }) => shiftsRedisTime(fault))
    .map(({ injectedAtMs, healedAtMs }) => ({ fromMs: injectedAtMs, toMs: healedAtMs ?? Infinity }))
  return [...lossesOf(facts), ...shifts]
}
