/**
 * `svc-research; reason=time-sensitive; confidence=0.83`: the lane that Auto chose, why, and how sure it is. Readers of
 * the first two parts need not know the third, which is left out where Auto had no say.
 */

export interface SmartRoute {
  laneId: string
  reason: string
  confidence?: number
}

export function smartRouteHeader({ laneId, reason, confidence }: SmartRoute): string {
  const why = `${laneId}; reason=${reason}`
  return confidence === undefined ? why : `${why}; confidence=${confidence.toFixed(2)}`
}
