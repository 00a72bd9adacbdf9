/**
 * The pause of a change in the outbox after its announcement has failed.
 *
 * A revoke costs one call of the admission store, and somebody may be using the key meanwhile: it never pauses long.
 */

export type Lane = 'revocation' | 'account'

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS: Record<Lane, number> = { revocation: 2_000, account: 15_000 }

/** `attempts`: how often it has failed; 0 is no pause. */
export function pauseMs(lane: Lane, attempts: number): number {
  return attempts === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (attempts - 1), LONGEST_PAUSE_MS[lane])
}
