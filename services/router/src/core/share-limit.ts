/**
 * Shares a backend's limit among the live routers: in equal parts, and never more together than the limit.
 *
 * The remainder of the division goes to some of them. Each backend has others, so the slots of small backends are not
 * all with the first routers. When a backend has fewer slots than routers exist, some get none.
 */

import { hash32 } from './hash32.ts'

export interface Share {
  /** This router's place among the live ones, from 0. */
  index: number
  /** The number of live. */
  of: number
  /** Requests that routers still have which are leaving, by backend. */
  held: Readonly<Record<string, number>>
}

/** The last message that a router has published. */
export interface Received {
  atMs: number
  /** Set while it leaves: the slots that it still holds, by backend. */
  leaving?: Readonly<Record<string, number>> | undefined
}

export const COMPLETE: Share = { index: 0, of: 1, held: {} }

export function shareOfLimit(limit: number, backend: string, { index, of, held }: Share): number {
  const shared = Math.max(0, limit - (held[backend] ?? 0))
  const turn = (index + hash32(backend)) % of
  return Math.floor(shared / of) + (turn < shared % of ? 1 : 0)
}

/** The share of `self` among the routers heard of since `aliveSinceMs`. Every router comes to the same order. */
export function shareAmong(self: string, received: ReadonlyMap<string, Received>, aliveSinceMs: number): Share {
  let index = 0
  let of = 1
  const held: Record<string, number> = {}
  for (const [id, { atMs, leaving }] of received) {
    if (id === self || atMs < aliveSinceMs) continue
    if (leaving) {
      for (const backend in leaving) held[backend] = (held[backend] ?? 0) + leaving[backend]!
      continue
    }
    of++
    if (id < self) index++
  }
  return { index, of, held }
}
