/**
 * The six lanes that the generic alias chooses among, and each one's fallbacks where it may not be used.
 */

export const LANES = ['spark', 'bolt', 'nova', 'atlas', 'research', 'code'] as const
export type Lane = (typeof LANES)[number]

/** The one place where lanes and model ids meet. */
export const LANE_IDS: Readonly<Record<Lane, string>> = {
  spark: 'svc-instant',
  bolt: 'svc-fast',
  nova: 'svc-core',
  atlas: 'svc-pro',
  research: 'svc-research',
  code: 'svc-code',
}

/** The fallbacks of each lane, nearest in ability first: enough ability before a low price. */
const FALLBACKS: Readonly<Record<Lane, readonly Lane[]>> = {
  spark: ['bolt', 'nova', 'code', 'atlas', 'research'],
  bolt: ['nova', 'spark', 'code', 'atlas', 'research'],
  nova: ['atlas', 'research', 'code', 'bolt', 'spark'],
  atlas: ['nova', 'research', 'code', 'bolt', 'spark'],
  research: ['nova', 'atlas', 'bolt', 'code', 'spark'],
  code: ['atlas', 'nova', 'bolt', 'research', 'spark'],
}

export interface UsableLane {
  laneId: string
  /** True where the wanted lane itself is usable. */
  wanted: boolean
}

/**
 * Returns the wanted lane where it is usable, else its nearest fallback. Ids that are none of the six come last, in the
 * operator's order. `laneIds` holds at least one id; an empty list yields the wanted lane's own id.
 */
export function usableLane(wanted: Lane, laneIds: readonly string[]): UsableLane {
  const own = LANE_IDS[wanted]
  if (laneIds.includes(own)) return { laneId: own, wanted: true }
  for (const fallback of FALLBACKS[wanted]) {
    const laneId = LANE_IDS[fallback]
    if (laneIds.includes(laneId)) return { laneId, wanted: false }
  }
  return { laneId: laneIds[0] ?? own, wanted: false }
}
