/**
 * Spans in which an edge found the admission store away and decided by itself, by its own log. Where no fault made it
 * so, the machine was too busy to let Redis reply within a quarter of a second.
 */

import type { Seen } from '../clients/seen.ts'
import { affectedPlaces, touchesRedis } from '../plan/describe-fault.ts'
import type { Facts, Injected } from './facts.ts'

/** The longest time that an edge which has found the store away may go on alone before it logs that again. */
const ALONE_MS = 1_500

export function wasAnyAlone({ alone }: Facts, fromMs: number, toMs: number): boolean {
  return alone.some(({ atMs }) => atMs > fromMs - ALONE_MS && atMs < toMs + ALONE_MS)
}

export function wasItsEdgeAlone({ alone }: Facts, { edge, sentAtMs, endedAtMs }: Seen): boolean {
  return alone.some((one) => one.edge === edge && one.atMs > sentAtMs - ALONE_MS && one.atMs < endedAtMs + ALONE_MS)
}

/** Counts the times that an edge was alone although no fault hit Redis. */
export function countStarved({ alone, injected }: Facts): number {
  const around = injected.filter(({ fault }) => touchesRedis(fault))
  const isExplained = (atMs: number) =>
    around.some(({ injectedAtMs, healedAtMs }) => atMs >= injectedAtMs && atMs <= (healedAtMs ?? Infinity) + ALONE_MS)
  return alone.filter(({ atMs }) => !isExplained(atMs)).length
}

/** Returns true when the fault takes away the services that an edge calls while it decides by itself. */
export function takesFactsAway(injection: Pick<Injected, 'fault' | 'victim'>): boolean {
  return affectedPlaces(injection).some((place) => ['keys-1', 'metering-1', 'postgres'].includes(place))
}
