/**
 * `x-svc-smart-route: svc-research; reason=time-sensitive`: the lane that Auto chose, and why.
 */

export interface SmartRoute {
  lane: string
  /** In words: `time sensitive`. */
  reason: string
}

export function readSmartRoute(header: string): SmartRoute {
  const [lane = '', ...parameters] = header.split(';').map((part) => part.trim())
  const reason = parameters.find((parameter) => parameter.startsWith('reason='))?.slice('reason='.length) ?? ''
  return { lane, reason: reason.replaceAll('-', ' ') }
}
