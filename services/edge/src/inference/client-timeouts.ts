/**
 * The time limits of the official SDKs, as their headers state them.
 */

export interface SdkTimeouts {
  /** Node's, where a request has a timeout of its own; in whole seconds. */
  'x-stainless-timeout'?: string | undefined
  /** Python's: the longest silence between two reads. The time before the headers is the first. */
  'x-stainless-read-timeout'?: string | undefined
}

/**
 * Returns the time that a client waits for its response's headers. An SDK stops its own timer there. Infinity: the client sets
 * no limit, or one that always holds, since the edge sends a stream's headers within `streamHeadersWithinMs`.
 */
export function timeForHeadersMs(
  said: SdkTimeouts,
  response: { stream: boolean; streamHeadersWithinMs: number },
): number {
  const bounds = [said['x-stainless-timeout'], said['x-stainless-read-timeout']]
    .map((seconds) => Number(seconds) * 1_000)
    .filter((ms) => ms > 0 && Number.isFinite(ms))
  const boundMs = Math.min(...bounds)
  return response.stream && boundMs > response.streamHeadersWithinMs ? Infinity : boundMs
}
