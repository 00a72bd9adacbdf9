/**
 * How long an attempt may be silent before another target is tried instead.
 *
 * A backend streams as soon as it generates, so a silent stream hangs. A plain answer comes when it is generated whole:
 * there a silent backend is hung or at work, and nobody can tell which. So it is left for another target while there is
 * one; where there is none, giving up can only lose, and the attempt's budget alone bounds it.
 */

export interface Silence {
  /** From the connection to the headers. */
  firstByteMs: number
  /** Between two pieces. */
  idleMs: number
}

export function silenceAllowed(timeouts: Silence, attempt: { stream: boolean; othersLeft: boolean }): Silence {
  const { firstByteMs, idleMs } = timeouts
  return attempt.stream || attempt.othersLeft ? { firstByteMs, idleMs } : { firstByteMs: Infinity, idleMs: Infinity }
}
