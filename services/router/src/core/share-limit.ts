/**
 * How a backend's limit is shared by the routers that live: in equal parts, what is left over to the first of them.
 */

export interface Share {
  /** This router's place among the live ones, from 0. */
  index: number
  /** How many live. */
  of: number
}

/** At least one: with more routers than places, a router without any could serve none of the jobs that it gets. */
export function shareOfLimit(limit: number, { index, of }: Share): number {
  return Math.max(1, Math.floor(limit / of) + (index < limit % of ? 1 : 0))
}

/** The share of `self` among the routers heard of since `aliveSinceMs`. Every router comes to the same order. */
export function shareAmong(self: string, heardAtMs: ReadonlyMap<string, number>, aliveSinceMs: number): Share {
  let index = 0
  let of = 1
  for (const [id, atMs] of heardAtMs) {
    if (id === self || atMs < aliveSinceMs) continue
    of++
    if (id < self) index++
  }
  return { index, of }
}
